from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import distance_transform_edt

from acdnet.data.pairs import open_pairs
from acdnet.data.store import Pair
from acdnet.train.augment import CONTRAST_HU, TISSUE_HU, with_lesions, with_scaled_artifact
from acdnet.train.patches import Patches


@pytest.fixture
def pair() -> Pair:
    rng = np.random.default_rng(0)
    clean = np.full((128, 128), 50.0, np.float32)
    clean[:, :64] = -1000.0
    metal = np.zeros(clean.shape, bool)
    metal[80:90, 90:110] = True
    corrupted = np.where(metal, 3000.0, clean + rng.normal(0.0, 100.0, clean.shape)).astype(np.float32)
    return Pair(clean, corrupted, clean + np.float32(7.0), metal)


def test_lesions_do_not_change_the_artifact(pair: Pair) -> None:
    made = with_lesions(pair, np.random.default_rng(1))
    added = made.clean - pair.clean
    tissue = ~pair.metal
    assert np.abs(added).max() > CONTRAST_HU[0] / 2
    np.testing.assert_allclose((made.corrupted - made.clean)[tissue], (pair.corrupted - pair.clean)[tissue], atol=1e-3)
    np.testing.assert_array_equal(made.corrupted[pair.metal], pair.corrupted[pair.metal])


def test_li_keeps_a_share_of_every_lesion(pair: Pair) -> None:
    made = with_lesions(pair, np.random.default_rng(2))
    added, added_to_li = made.clean - pair.clean, made.li - pair.li
    there = np.abs(added) > CONTRAST_HU[0] / 2
    assert (np.abs(added_to_li[there]) <= np.abs(added[there]) + 1e-3).all()
    assert np.abs(added_to_li[there]).mean() < 0.95 * np.abs(added[there]).mean()


def test_a_trace_fit_keeps_as_much_of_them(pair: Pair) -> None:
    fitted = replace(pair, tracefit=pair.li - np.float32(3.0))
    made = with_lesions(fitted, np.random.default_rng(2))
    assert made.tracefit is not None
    np.testing.assert_allclose(made.tracefit - made.li, np.full_like(pair.li, -3.0), atol=1e-3)
    assert with_lesions(pair, np.random.default_rng(2)).tracefit is None


def test_many_lie_near_metal(pair: Pair) -> None:
    away = distance_transform_edt(~pair.metal)
    added = np.stack([np.abs(with_lesions(pair, np.random.default_rng(n)).clean - pair.clean) for n in range(40)])
    tissue = (pair.clean > TISSUE_HU) & ~pair.metal
    near, far = ((added[:, tissue & where] > 5).mean() for where in (away < 20, away > 40))
    assert near > 1.5 * far


def test_artifacts_of_any_strength(pair: Pair) -> None:
    tissue = ~pair.metal
    shares = []
    for seed in range(20):
        made = with_scaled_artifact(pair, np.random.default_rng(seed))
        np.testing.assert_array_equal(made.corrupted[pair.metal], pair.corrupted[pair.metal])
        shares.append(np.std((made.corrupted - made.clean)[tissue]) / np.std((pair.corrupted - pair.clean)[tissue]))
        assert made.li is pair.li
    assert min(shares) < 0.2
    assert 0.8 < max(shares) <= 1.0


def test_air_holds_no_lesion(pair: Pair) -> None:
    air = Pair(np.full_like(pair.clean, TISSUE_HU - 1), pair.corrupted, pair.li, pair.metal)
    made = with_lesions(air, np.random.default_rng(3))
    np.testing.assert_array_equal(made.clean, air.clean)


def test_the_given_share_of_patches_is_augmented(sinogram_store: Path) -> None:
    sets = [open_pairs(sinogram_store)]
    kinds: list[Callable[[float], Patches]] = [
        lambda share: Patches(sets, 48, seed=1, lesions=share),
        lambda share: Patches(sets, 48, seed=1, artifact_scaling=share),
    ]
    for kind in kinds:
        plain, some, all_, again = (kind(share) for share in (0.0, 0.5, 1.0, 1.0))
        changed = [sum(not plain[n].equal(other[n]) for n in range(24)) for other in (some, all_)]
        assert 2 < changed[0] < changed[1]
        assert all_[7].equal(again[7])


def test_pixels_of_lesions_can_be_weighted(sinogram_store: Path) -> None:
    sets = [open_pairs(sinogram_store)]
    plain, with_, weighted = (
        Patches(sets, 48, seed=1, lesions=share, lesion_weight=weight)
        for share, weight in ((0.0, 1.0), (1.0, 1.0), (1.0, 5.0))
    )
    for n in range(4):
        before, after, *others = plain[n][2], with_[n][2], *weighted[n]
        assert len(others) == 5
        assert others[2].equal(after)
        W = others[4]
        assert set(W.unique().tolist()) <= {1.0, 5.0}
        assert (W[(after - before).abs() > 1.0] == 5.0).all()  # a unit of the network is 20 HU
        assert (W[after == before] == 1.0).all()
