from pathlib import Path

import numpy as np
import pytest

from acdnet.data.pairs import open_pairs
from acdnet.evaluate.case import Case
from acdnet.evaluate.entrants import get_entrants
from acdnet.evaluate.lesions import CONTRAST_HU, draw_disc, lesion_retention, with_disc
from tests.evaluate.make import Stub


def test_f57_the_kept_contrast_of_a_lesion_is_measured(clinical_store: Path) -> None:
    """A method that leaves images alone keeps all; one that blurs keeps less; one that erases keeps nothing."""
    case = Case.read(open_pairs(clinical_store), 2)
    methods = [
        Stub("keeps"),
        Stub("halves", lambda one: np.float32(0.5) * one.slice_hu),
        Stub("erases", lambda one: np.zeros_like(one.slice_hu)),
    ]
    found = lesion_retention(case, methods, np.random.default_rng(0))
    assert {one.place for one in found} >= {"no metal"}
    for one in found:
        assert one.kept == pytest.approx({"keeps": 1.0, "halves": 0.5, "erases": 0.0}[one.method], abs=0.01)


def test_f57_nmar_and_li_keep_lesions_far_from_metal(benchmark_store: Path) -> None:
    """Also where there are raw data: the disc is in the image, so images are what methods get."""
    found = []
    for index in range(3):
        case = Case.read(open_pairs(benchmark_store), index)
        found += lesion_retention(case, get_entrants(["li", "nmar"]), np.random.default_rng(index))
    kept = [one.kept for one in found if one.place == "far"]
    assert kept, "no room for a disc far from metal"
    assert np.mean(kept) > 0.6
    assert all(one.kept == pytest.approx(1.0, abs=0.05) for one in found if one.place == "no metal")


def test_a_disc_is_added_to_tissue_only(clinical_store: Path) -> None:
    case = Case.read(open_pairs(clinical_store), 2)
    disc = draw_disc(case, "no metal", np.random.default_rng(1))
    assert disc is not None
    changed = with_disc(case, disc)
    added = changed.pair.clean - case.pair.clean
    assert 0 < added.max() <= CONTRAST_HU + 1e-3
    assert np.array_equal(changed.pair.corrupted[case.pair.metal], case.pair.corrupted[case.pair.metal])
