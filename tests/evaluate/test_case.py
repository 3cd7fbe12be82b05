from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from acdnet.data.pairs import open_pairs
from acdnet.errors import InputRefused
from acdnet.evaluate.case import Case
from acdnet.evaluate.metrics import score
from acdnet.methods.registry import get_method
from tests.data.make import small_store


def test_li_is_that_of_the_pair_where_raw_data_made_it(benchmark_store: Path) -> None:
    case = Case.read(open_pairs(benchmark_store), 1)
    assert np.array_equal(get_method("li", "cpu")(case.measurement()).image_hu, case.pair.li)


def test_li_is_computed_from_the_image_in_the_clinical_protocol(clinical_store: Path) -> None:
    case = Case.read(open_pairs(clinical_store), 1)
    ours = get_method("li", "cpu")(case.measurement()).image_hu
    difference = np.abs(ours - case.pair.li)
    assert 0 < difference.mean() < 1.0  # that of the store was made before the image was rounded


def test_a_pair_of_unknown_pixel_size_is_refused(clinical_store: Path) -> None:
    case = replace(Case.read(open_pairs(clinical_store), 0), pixel_mm=None)
    with pytest.raises(InputRefused, match="pixel size"):
        case.measurement()


def test_raw_data_are_required_where_they_are_needed(tmp_path: Path) -> None:
    case = Case.read(open_pairs(small_store(tmp_path, 1)), 0)
    with pytest.raises(InputRefused, match="--sinograms"):
        get_method("nmar", "cpu")(case.measurement())
    assert np.array_equal(get_method("li", "cpu")(case.measurement()).image_hu, case.pair.li)


def test_the_metal_of_the_input_does_not_move_the_paper_score(clinical_store: Path) -> None:
    """Its bright pixels would stretch the range of the image; metal is taken out before that."""
    pair = (case := Case.read(open_pairs(clinical_store), 1)).pair
    image = get_method("acdnet", "cpu")(case.measurement()).image_hu
    brighter = np.where(pair.metal, image.max() + 1000, image).astype(np.float32)
    scored = score(image, pair.clean, pair.metal)
    assert score(brighter, pair.clean, pair.metal) == scored
    assert score(brighter, pair.clean, np.zeros_like(pair.metal)).paper_psnr < scored.paper_psnr
