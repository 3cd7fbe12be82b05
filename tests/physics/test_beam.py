import numpy as np
import pytest
import torch

from acdnet.errors import ConfigError
from acdnet.physics.beam import beam, correct, count, spectra, transmitted, water_correction
from acdnet.physics.fbp import fbp
from acdnet.physics.geometry import FanBeam
from acdnet.units import WATER_MU, hu_from_mu
from tests.physics import plain

SAMPLES = {
    20: 0.0023, 25: 0.0080, 30: 0.0142, 35: 0.0178, 40: 0.0191, 45: 0.0186, 50: 0.0175, 55: 0.0160, 60: 0.0348,
    65: 0.0122, 70: 0.0116, 75: 0.0072, 80: 0.0062, 90: 0.0046, 100: 0.0030, 110: 0.0014, 120: 0.0001,
}  # fmt: skip


def test_benchmark_spectrum_equals_the_published_samples() -> None:
    source = beam("benchmark")
    weights = dict(zip(source.keV, source.weight, strict=True))
    for keV, share in SAMPLES.items():
        assert weights[keV] == pytest.approx(share, abs=1e-4)
    assert source.mean_keV == pytest.approx(55.1, abs=0.1)


def test_water_correction_equals_the_published_polynomial() -> None:
    assert water_correction(beam("benchmark")) == pytest.approx([0.80370, 0.023014, -0.00084440], rel=2e-3)


@pytest.mark.parametrize("name", spectra())
def test_spectra_are_normalised(name: str) -> None:
    assert sum(beam(name).weight) == pytest.approx(1.0)
    assert all(weight > 0 for weight in beam(name).weight)


def test_a_higher_voltage_gives_a_harder_beam() -> None:
    means = [beam(name).mean_keV for name in ("80kVp", "100kVp", "120kVp", "140kVp")]
    assert means == sorted(means)
    assert beam("120kVp").energy_integrating().mean_keV > beam("120kVp").mean_keV


def test_thin_paths_follow_the_mean_attenuation_and_thick_ones_harden() -> None:
    source = beam("benchmark")
    paths = torch.tensor([1e-4, 1.0, 4.0], dtype=torch.float64)
    p = -torch.log(transmitted({"water": paths}, source))
    slopes = p / paths
    assert slopes[0] > slopes[1] > slopes[2]


def test_materials_add_up() -> None:
    source = beam("benchmark")
    one = torch.full((2, 3), 0.7)
    both = transmitted({"water": one, "bone": 0 * one}, source)
    assert torch.allclose(both, transmitted({"water": one}, source))
    assert both.shape == (2, 3)


def cupping(name: str, degree: int, radius: float, corrected: bool = True) -> float:
    """Return how much lower the centre of a water disc is than its rim, in HU."""
    g = FanBeam.around(192, 0.2 * radius / 12)
    path = torch.from_numpy(plain.disc_projection(g, 0.0, 0.0, radius) * WATER_MU)
    source = beam(name)
    p = -torch.log(transmitted({"water": path}, source))
    hu = hu_from_mu(fbp(correct(p, water_correction(source, degree)) if corrected else p, g)).numpy()
    centre, rim = plain.disc(g, 0, 0, 0.2 * radius) == 1, plain.disc(g, 0, 0, 0.9 * radius) == 1
    rim &= plain.disc(g, 0, 0, 0.8 * radius) == 0
    return float(hu[rim].mean() - hu[centre].mean())


@pytest.mark.parametrize("radius", [5.0, 12.0, 16.0])
@pytest.mark.parametrize("name", ["80kVp", "100kVp", "120kVp", "140kVp"])
def test_water_stays_flat_after_the_correction(name: str, radius: float) -> None:
    assert abs(cupping(name, 5, radius)) < 5.0
    assert cupping(name, 5, radius, corrected=False) > 10.0


@pytest.mark.parametrize("radius", [4.0, 5.0, 6.0, 7.0, 12.0])
def test_the_cubic_correction_of_the_benchmark_leaves_less_than_10_hu(radius: float) -> None:
    """Its polynomial is part of the protocol; ours of fifth degree would be flat with the same beam."""
    assert abs(cupping("benchmark", 3, radius)) < 10.0
    assert abs(cupping("benchmark", 5, radius)) < 5.0


def test_photon_noise_has_the_right_size() -> None:
    share = torch.full((200, 200), 0.01, dtype=torch.float64)
    p = count(share, 1e6, 0.0, np.random.default_rng(0))
    assert p.mean() == pytest.approx(-np.log(0.01), abs=1e-3)
    assert p.std() == pytest.approx(1 / np.sqrt(1e4), rel=0.03)


def test_no_photon_counts_as_one() -> None:
    p = count(torch.zeros(3), 1e6, 0.0, np.random.default_rng(0))
    assert torch.allclose(p, torch.tensor(np.log(1e6), dtype=torch.float32))


def test_unknown_spectra_are_refused() -> None:
    with pytest.raises(ConfigError, match="benchmark"):
        beam("150kVp")
