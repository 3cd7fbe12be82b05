from pathlib import Path

import numpy as np
import pytest
import torch

from acdnet.data.pairs import open_pairs
from acdnet.errors import ConfigError
from acdnet.methods.learned.observed import to_hu
from acdnet.train.launch import make_fabric
from acdnet.train.loop import Trainer
from acdnet.train.tasks.dual import Slices
from tests.train.make import rival_config


def test_image_and_sinogram_are_those_of_the_store(sinogram_store: Path) -> None:
    pairs = open_pairs(sinogram_store, ["train"])
    examples = Slices([pairs], seed=0)
    for n in range(3):
        observed, X, S = examples[n]
        every = range(len(pairs.infos()))
        (index,) = [k for k in every if np.abs(to_hu(X) - np.maximum(pairs.read(k).clean, -1000)).max() < 0.1]
        lines = pairs.clean_sinogram(index)
        assert lines is not None
        np.testing.assert_allclose(S[0, 0].numpy(), lines)
        outside = observed.trace[0, 0] == 0
        assert (observed.S - S)[0, 0][outside].abs().max() < 0.1 < (observed.S - S).abs().max()


@pytest.mark.parametrize("architecture", ["dudonet-s", "dscmar-s", "dudonet++-s"])
def test_the_loss_is_three_mean_absolute_errors_outside_metal(
    architecture: str, sinogram_store: Path, tmp_path: Path
) -> None:
    config = rival_config(sinogram_store, tmp_path, architecture)
    trainer = Trainer(config, make_fabric(config))
    observed, X, S = trainer.task.examples(trainer.train, config, 0, 0.0)[0]
    network = trainer.raw.eval()
    output = network(observed)
    outside = observed.I > 0
    expected = [
        (output.sinogram - S).abs().mean(),
        *((image - X)[outside].abs().sum() / X.numel() for image in (output.between, output.image)),
    ]
    for truth in (X, torch.where(outside, X, 7.0)):
        terms = trainer.task.loss(network, (observed, truth, S), config)
        torch.testing.assert_close(torch.stack(terms.values), torch.stack(expected))


def test_networks_take_one_slice_at_a_time(sinogram_store: Path, tmp_path: Path) -> None:
    config = rival_config(sinogram_store, tmp_path, "dudonet-s", batch=2)
    with pytest.raises(ConfigError, match="one slice"):
        Trainer(config, make_fabric(config))
