from __future__ import annotations

import numpy as np
import pytest

from acdnet.baselines.method import METHODS, method
from acdnet.baselines.nmar import make_prior, thresholds
from acdnet.errors import ConfigError
from acdnet.evaluate.metrics import hu_rmse
from acdnet.physics.implants.anatomy import find_anatomy
from acdnet.physics.implants.draw import draw_implant
from acdnet.physics.measured import Measured
from acdnet.physics.phantom import SITES, make_phantom
from acdnet.physics.scanner import Simulation
from acdnet.physics.simulate import PROTOCOLS, simulate

SIZE = 208


def phantom_scan(site: str, protocol: str, seed: int = 3) -> Simulation:
    phantom = make_phantom(site, seed, SIZE)
    anatomy = find_anatomy(phantom.hu, phantom.pixel_mm)
    implant = draw_implant(anatomy, np.random.default_rng(seed), phantom.kinds)
    return simulate(phantom.hu, implant.mask, protocol, seed, phantom.pixel_mm, "CoCrMo")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_nmar_beats_li_and_li_the_input(protocol: str) -> None:
    errors = []
    for site in SITES:
        made = phantom_scan(site, protocol)
        body = (made.clean > -500) & ~made.metal
        errors.append([hu_rmse(method(name)(made.measured()), made.clean, body) for name in ("input", "li", "nmar")])
    without, li, nmar = np.mean(errors, 0)
    assert nmar < li < without


def test_nmar_beside_metal_under_the_skin() -> None:
    """A pacemaker: beside its trace there is air, where the prior is empty and a quotient would explode."""
    phantom = make_phantom("thorax", 4, SIZE)
    anatomy = find_anatomy(phantom.hu, phantom.pixel_mm)
    mask = draw_implant(anatomy, np.random.default_rng(4), ("pacemaker",)).mask
    for protocol in PROTOCOLS:
        made = simulate(phantom.hu, mask, protocol, 1, phantom.pixel_mm, "titanium")
        body = (made.clean > -500) & ~made.metal
        errors = [hu_rmse(method(name)(made.measured()), made.clean, body) for name in ("li", "nmar")]
        assert errors[1] < 1.1 * errors[0]


def test_bhc_straightens_what_metal_adds() -> None:
    """On the trace, what is left above LI grows in proportion to the path through metal."""
    made = phantom_scan("pelvis", "syndeeplesion")
    body = (made.clean > -500) & ~made.metal
    before, after = (hu_rmse(method(name)(made.measured()), made.clean, body) for name in ("input", "bhc"))
    assert after < before


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_li_is_the_li_of_the_simulation(protocol: str) -> None:
    made = phantom_scan("thorax", protocol)
    assert np.array_equal(method("li")(made.measured()), made.li)


@pytest.mark.parametrize("name", METHODS)
def test_a_slice_without_metal_is_left_alone(name: str) -> None:
    made = phantom_scan("head", "clinical")
    measured = Measured.from_image(made.clean, np.zeros_like(made.metal), made.geometry)
    assert np.abs(method(name)(measured) - made.clean).max() < 0.1


@pytest.mark.parametrize("name", METHODS)
def test_methods_return_finite_hu_and_leave_their_input_alone(name: str) -> None:
    made = phantom_scan("head", "syndeeplesion")
    measured = made.measured()
    before = measured.image.copy(), measured.sinogram.clone()
    image = method(name)(measured)
    assert image.dtype == np.float32
    assert image.shape == made.clean.shape
    assert np.isfinite(image).all()
    assert np.array_equal(before[0], measured.image)
    assert before[1].equal(measured.sinogram)


def test_prior_has_air_water_and_bone() -> None:
    mu = np.zeros((60, 60), np.float32)
    mu[10:50, 10:50] = 0.2
    mu[25:35, 25:35] = 0.45
    metal = np.zeros((60, 60), bool)
    metal[40:42, 40:42] = True
    prior = make_prior(np.where(metal, np.float32(3.0), mu), metal)
    assert prior[0, 0] == 0
    assert prior[15, 15] == pytest.approx(0.192)
    assert prior[41, 41] == pytest.approx(0.192)
    assert prior[30, 30] == pytest.approx(0.45, rel=1e-3)


def test_thresholds_of_a_slice_without_bone() -> None:
    mu = np.zeros((40, 40), np.float32)
    mu[10:30, 10:30] = 0.19
    air, bone = thresholds(mu)
    assert 0.05 < air < 0.15
    assert bone >= 1.2 * 0.192


def test_unknown_methods_are_refused() -> None:
    with pytest.raises(ConfigError, match="nmar"):
        method("magic")
