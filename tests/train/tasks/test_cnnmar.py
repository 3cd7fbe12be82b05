from pathlib import Path

import numpy as np
import torch

from acdnet.data.pairs import open_pairs
from acdnet.evaluate.case import Case
from acdnet.methods.cnnmar import three_images
from acdnet.physics.measurement import attenuation
from acdnet.train.patches import Window
from acdnet.train.tasks.cnnmar import ThreeImagePatches


def test_patches_are_parts_of_the_three_images(sinogram_store: Path) -> None:
    pairs = open_pairs(sinogram_store, ["train"])
    examples = ThreeImagePatches([pairs], 32, seed=0)
    rows, columns = slice(3, 35), slice(10, 42)
    made = examples.example(0, 1, Window(pairs.read(1, rows, columns), rows, columns))
    case = Case.read(pairs, 1)
    whole = three_images(case.measurement(), case.pair.li)
    torch.testing.assert_close(made[:3], whole[:, rows, columns], atol=2e-3, rtol=1e-3)
    torch.testing.assert_close(made[3], attenuation(case.pair.clean)[rows, columns])
    np.testing.assert_array_equal(made[4].numpy() > 0, ~case.pair.metal[rows, columns])
