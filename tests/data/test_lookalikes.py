from collections.abc import Callable

import numpy as np
import pytest

from acdnet.data import lookalikes
from acdnet.physics.phantom import make_phantom
from acdnet.units import Image

HEAD = make_phantom("head", 0, 208)
MM = HEAD.pixel_mm


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def wave(lp_cm: float, mm: float = 0.4, size: int = 250) -> Image:
    columns = np.cos(2 * np.pi * lp_cm * np.arange(size) * mm / 10)
    return np.asarray(100 * np.tile(columns, (size, 1)), np.float32)


def gain(lp_cm: float, seed: int) -> float:
    """Return the gain of a wave in the middle of a slice."""
    middle = np.s_[60:-60, 60:-60]
    return float(lookalikes.sharpen(wave(lp_cm), 0.4, rng(seed))[middle].std() / wave(lp_cm)[middle].std())


@pytest.mark.parametrize("seed", range(4))
def test_a_sharp_kernel_lifts_the_middle_frequencies(seed: int) -> None:
    best = max(gain(f, seed) for f in (3, 4, 5, 6, 7, 8))
    assert 1.4 < best < 3.1
    assert gain(0.2, seed) == pytest.approx(1.0, abs=0.05)
    assert gain(12.4, seed) < best
    flat = np.full((13, 18), 37.0, np.float32)
    assert np.allclose(lookalikes.sharpen(flat, 0.8, rng(seed)), flat, atol=0.01)


def test_enamel_and_bone_get_denser_and_the_rest_stays() -> None:
    tops = []
    for seed in range(20):
        made = lookalikes.densify(HEAD.hu, rng(seed))
        low = HEAD.hu <= 300
        assert np.array_equal(made[low], HEAD.hu[low])
        assert (made >= HEAD.hu).all()
        tops.append(float(np.quantile(made[made > 300], 0.999)))
    assert max(tops) > 4000
    assert max(tops) < 4700
    soft = np.full((32, 32), 50.0, np.float32)
    assert np.array_equal(lookalikes.densify(soft, rng()), soft)


@pytest.mark.parametrize("paint", [lookalikes.contrast, lookalikes.calcify])
def test_paint_goes_into_soft_tissue_only(paint: Callable[[Image, float, np.random.Generator], Image]) -> None:
    tops = []
    for seed in range(12):
        made = paint(HEAD.hu, MM, rng(seed))
        changed = made != HEAD.hu
        assert changed.any()
        assert not (changed & (HEAD.hu < -300)).any()
        assert not (changed & (HEAD.hu > 300)).any()
        tops.append(float(made[changed].max()))
    assert max(tops) > 1200
    assert max(tops) < 3400


def test_everything_together_is_reproducible_and_bounded() -> None:
    before = HEAD.hu.copy()
    made = [lookalikes.imitate(HEAD.hu, MM, rng(seed)) for seed in range(30)]
    assert np.array_equal(HEAD.hu, before)
    assert np.array_equal(made[3], lookalikes.imitate(HEAD.hu, MM, rng(3)))
    tops = np.array([image.max() for image in made])
    assert tops.max() <= 4500.5
    assert (tops == 3071).sum() >= 2  # the ceiling of 12 bits
    assert (tops > 3500).any()
    assert all(image.dtype == np.float32 for image in made)


def test_neighbours_are_treated_alike_and_metal_keeps_its_values() -> None:
    metal = np.zeros_like(HEAD.hu, bool)
    metal[100:104, 100:104] = True
    with_metal = np.where(metal, 9000.0, HEAD.hu).astype(np.float32)
    painted = 0
    for seed in range(12):
        made = lookalikes.imitate_neighbours([HEAD.hu] * 3, 1, MM, rng(seed))
        assert len(made) == 3
        same = np.isclose(made[0], made[1], atol=1.0)
        assert same.mean() > 0.9
        painted += not same.all()
        kept = lookalikes.imitate_neighbours([with_metal] * 3, 1, MM, rng(seed), [metal] * 3)
        assert all(hu[metal].mean() > 3000 for hu in kept)
    assert painted
