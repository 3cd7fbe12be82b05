from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from acdnet.physics.acquisition import Acquisition
from acdnet.physics.phantom import make_phantom
from acdnet.physics.scanner import Simulation
from acdnet.physics.slab_scanner import SlabScanner, without_metal

SIZE = 96
PHANTOM = make_phantom("pelvis", 0, SIZE)
QUIET = replace(Acquisition.draw(np.random.default_rng(0)), views=984, mas=1e6, ceiling_hu=30_000.0, low_count=0.0)


def shares(*layers: float) -> NDArray[np.float32]:
    made = np.zeros((len(layers), SIZE, SIZE), np.float32)
    for layer, share in zip(made, layers, strict=True):
        layer[44:46, 33:35] = share
    return made


def scan(metal: NDArray[np.float32], seed: int = 0, acquisition: Acquisition = QUIET) -> Simulation:
    scanner = SlabScanner(PHANTOM.hu, PHANTOM.pixel_mm, 3.0, acquisition, 640)
    return scanner.with_layers(metal, metal.mean(0) >= 0.25, "titanium", np.random.default_rng(seed))


def value(pair: Simulation) -> float:
    return float(pair.corrupted[44:46, 33:35].mean())


def test_partly_filled_metal_shows_in_part() -> None:
    full, half, quarter = (value(scan(shares(*one))) for one in ((1, 1), (1, 0), (0.25, 0.25)))
    assert full > half > quarter > 1000
    assert value(scan(shares(1, 0))) == pytest.approx(value(scan(shares(0, 1))))
    assert half < value(scan(shares(0.5, 0.5)))  # half of the beam passes the metal without loss


def test_only_rays_through_metal_change_and_noise_is_of_each_slice() -> None:
    pair = scan(shares(1, 1))
    assert np.array_equal(pair.clean, np.maximum(PHANTOM.hu, -1024))
    assert pair.metal.sum() == 4
    noisy = replace(QUIET, mas=60.0)
    one, same, other = (scan(shares(1, 1), seed, noisy).corrupted for seed in (0, 0, 1))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_starved_rays_streak_less_when_they_are_filtered() -> None:
    starved = replace(QUIET, mas=2.0, views=984)
    steel = np.zeros((1, SIZE, SIZE), np.float32)
    steel[0, 40:46, 20:28] = steel[0, 40:46, 66:74] = 1
    between = np.s_[41:45, 35:60]

    def spread(acquisition: Acquisition) -> float:
        scanner = SlabScanner(PHANTOM.hu, PHANTOM.pixel_mm, 1.0, acquisition, 640)
        pair = scanner.with_layers(steel, steel[0] > 0, "CoCrMo", np.random.default_rng(0))
        return float((pair.corrupted - pair.clean)[between].std())

    assert spread(replace(starved, low_count=300.0, window=(3, 3))) < 0.92 * spread(starved)


def test_settings_are_noted_and_slices_without_metal_stay() -> None:
    settings = scan(shares(1, 1)).settings
    assert settings["views"] == 984
    assert settings["kernel"] == QUIET.kernel
    clean = without_metal(PHANTOM.hu, PHANTOM.pixel_mm, "gold", replace(QUIET, ceiling_hu=500.0), 640)
    assert np.array_equal(clean.corrupted, clean.li)
    assert clean.corrupted.max() == 500 < clean.clean.max()
    assert not clean.metal.any()
