from __future__ import annotations

import numpy as np
import pytest

from acdnet.physics.phantom import make_phantom
from acdnet.physics.scanner import BenchmarkScanner, ClinicalScanner, Simulation
from acdnet.physics.simulate import simulate

SIZE = 128
PHANTOM = make_phantom("pelvis", 5, SIZE)
METAL = np.zeros((SIZE, SIZE), bool)
METAL[58:66, 88:98] = True


def clinical(seed: int = 3, material: str = "titanium") -> Simulation:
    return simulate(PHANTOM.hu, METAL, "clinical", seed, PHANTOM.pixel_mm, material)


@pytest.mark.parametrize("protocol", ["syndeeplesion", "clinical"])
def test_the_seed_decides_everything(protocol: str) -> None:
    def run(seed: int) -> Simulation:
        return simulate(PHANTOM.hu, METAL, protocol, seed, PHANTOM.pixel_mm)

    one, same, other = run(1), run(1), run(2)
    for name in ("clean", "corrupted", "li", "sinogram", "li_sinogram", "trace"):
        assert np.array_equal(getattr(one, name), getattr(same, name)), name
    assert not np.array_equal(one.corrupted, other.corrupted)


@pytest.mark.parametrize("protocol", ["syndeeplesion", "clinical"])
def test_metal_makes_artifacts_and_li_removes_most(protocol: str) -> None:
    made = simulate(PHANTOM.hu, METAL, protocol, 1, PHANTOM.pixel_mm, "CoCrMo")
    body = (made.clean > -500) & ~METAL
    error, left = (np.sqrt(np.mean((image - made.clean)[body] ** 2)) for image in (made.corrupted, made.li))
    assert error > 60
    assert left < 0.8 * error
    assert made.corrupted[METAL].mean() > 2500
    assert made.clean.dtype == made.corrupted.dtype == made.li.dtype == np.float32


def test_clinical_changes_nothing_that_metal_does_not_touch() -> None:
    """No ray through metal, no change: the clean image keeps its own noise."""
    small = np.zeros((SIZE, SIZE), bool)
    small[64, 64] = True
    made = simulate(PHANTOM.hu, small, "clinical", 0, PHANTOM.pixel_mm)
    far = np.hypot(*(np.indices((SIZE, SIZE)) - 64.0)) > 45
    assert np.sqrt(np.mean((made.corrupted - made.clean)[far] ** 2)) < 20


def test_denser_metal_makes_worse_artifacts() -> None:
    errors = [
        np.std((made := clinical(3, name)).corrupted[~METAL] - made.clean[~METAL]) for name in ("titanium", "CoCrMo")
    ]
    assert errors[0] < errors[1]


def test_clinical_settings_stay_in_their_ranges() -> None:
    for seed in range(4):
        settings = clinical(seed).settings
        assert 2e5 <= float(settings["photons"]) <= 2e6
        assert 54.1 <= float(settings["source_cm"]) <= 59.5
        assert 94.9 <= float(settings["source_cm"]) + float(settings["detector_cm"]) <= 108.5


def test_clinical_honours_the_pixel_size() -> None:
    """The same picture as a patient twice as wide has line integrals twice as long."""
    small, large = (simulate(PHANTOM.hu, METAL, "clinical", 1, pixel_mm) for pixel_mm in (1.2, 2.4))
    longest = [made.sinogram[~made.trace].max() for made in (small, large)]
    assert longest[1] == pytest.approx(2 * longest[0], rel=0.2)


def test_benchmark_tissue_is_measured_once_for_many_implants() -> None:
    scanner = BenchmarkScanner(PHANTOM.hu)
    alone = simulate(PHANTOM.hu, METAL, seed=9)
    again = scanner.with_metal(METAL, "titanium", np.random.default_rng(9))
    assert np.array_equal(alone.corrupted, again.corrupted)
    sinogram, image = scanner.without_metal(np.random.default_rng(0))
    assert np.abs(sinogram - alone.sinogram)[~alone.trace].max() < 0.01
    assert np.abs(image - PHANTOM.hu).mean() < 40


def test_clinical_lays_rays_through_the_whole_picture() -> None:
    scanner = ClinicalScanner(PHANTOM.hu, PHANTOM.pixel_mm, np.random.default_rng(0))
    assert scanner.geometry.bins * scanner.geometry.pitch > SIZE * np.sqrt(2)
