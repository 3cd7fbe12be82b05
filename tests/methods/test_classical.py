from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from acdnet.errors import InputRefused
from acdnet.methods.classical import FUNCTIONS
from acdnet.methods.nmar import make_prior, thresholds
from acdnet.methods.registry import CLASSICAL, INPUT, get_method
from acdnet.physics.measurement import Measurement
from acdnet.physics.phantom import SITES
from acdnet.physics.simulate import PROTOCOLS
from tests.methods.make import errors, phantom_scan

METHODS = (INPUT, *CLASSICAL)


def corrected(name: str, measurement: Measurement) -> NDArray[np.float32]:
    return get_method(name, "cpu")(measurement).image_hu


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_nmar_beats_li_and_li_the_input(protocol: str) -> None:
    found = [errors(phantom_scan(site, protocol), "input", "li", "nmar") for site in SITES]
    without, li, nmar = np.mean(found, 0)
    assert nmar < li < without


def test_nmar_near_metal_under_the_skin() -> None:
    """A pacemaker: the trace borders on air, where the prior is empty and a quotient would explode."""
    for protocol in PROTOCOLS:
        li, nmar = errors(phantom_scan("thorax", protocol, 4, ("pacemaker",), "titanium"), "li", "nmar")
        assert nmar < 1.1 * li


def test_bhc_beats_the_input() -> None:
    before, after = errors(phantom_scan("pelvis", "syndeeplesion"), "input", "bhc")
    assert after < before


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_li_is_the_li_of_the_simulation(protocol: str) -> None:
    made = phantom_scan("thorax", protocol)
    assert np.array_equal(corrected("li", made.measurement()), made.li)


@pytest.mark.parametrize("name", METHODS)
def test_a_slice_without_metal_is_left_alone(name: str) -> None:
    made = phantom_scan("head", "clinical")
    measurement = Measurement.of_square(made.clean, np.zeros_like(made.metal), made.geometry)
    assert np.abs(corrected(name, measurement) - made.clean).max() < 0.1


@pytest.mark.parametrize("name", METHODS)
def test_methods_return_finite_hu_and_leave_their_input_alone(name: str) -> None:
    made = phantom_scan("head", "syndeeplesion")
    measurement = made.measurement()
    before = measurement.image.copy(), measurement.sinogram.clone()
    image = corrected(name, measurement)
    assert image.dtype == np.float32
    assert image.shape == made.clean.shape
    assert np.isfinite(image).all()
    assert np.array_equal(before[0], measurement.image)
    assert before[1].equal(measurement.sinogram)


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


def test_every_classical_method_has_a_label_and_a_description() -> None:
    assert CLASSICAL.keys() == FUNCTIONS.keys()
    for name, entry in CLASSICAL.items():
        method = get_method(name, "cpu")
        assert (method.name, method.label) == (name, entry.label)
        assert entry.about
        assert (method.parameters, method.weights, method.training) == (0, "", None)


@pytest.mark.parametrize("name", CLASSICAL)
def test_an_image_that_came_with_the_slice_is_taken(name: str) -> None:
    made = phantom_scan("head", "clinical")
    given = np.full(made.clean.shape, 7.0, np.float32)
    measurement = replace(made.measurement(), given={name: given})
    assert corrected(name, measurement) is given
    assert "rays" not in measurement.__dict__  # nothing had to be projected
    other = replace(made.measurement(), given={"another": given})
    assert not np.array_equal(corrected(name, other), given)


@pytest.mark.parametrize("name", CLASSICAL)
def test_missing_raw_data_are_refused(name: str) -> None:
    made = phantom_scan("head", "syndeeplesion").without_sinograms()
    measurement = Measurement(made.corrupted, made.metal, (1.0, 1.0), scanner=made.geometry, needs_raw=True)
    with pytest.raises(InputRefused, match="has no sinograms"):
        get_method(name, "cpu")(measurement)
    assert get_method(INPUT)(measurement).image_hu is made.corrupted
