"""ACDNet as a method: start, set dense bone aside, decompose, give back."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from acdnet.config import ACDNetConfig
from acdnet.errors import InputRefused
from acdnet.methods.acdnet import ACDNetMethod
from acdnet.methods.hu_adapter import DENSE_HU, to_hu
from acdnet.methods.li import li
from acdnet.methods.trace_fit import trace_fit
from acdnet.physics.measurement import Measurement
from acdnet.weights.card import Card, Training
from tests.helpers import TINY, make_model
from tests.methods.make import measure, slice_with_metal
from tests.reduction.make import body

CORRECTED = replace(TINY, last="trace_correction")


def method(config: ACDNetConfig = TINY) -> ACDNetMethod:
    return ACDNetMethod(make_model(config))


def change(config: ACDNetConfig, measurement: Measurement) -> NDArray[np.float32]:
    """Return what a random network changes outside the metal."""
    image = method(config)(measurement).image_hu
    return np.where(measurement.slice_metal, 0.0, image - measurement.slice_hu)


@pytest.mark.parametrize(("rows", "spacing"), [(64, (0.9, 0.9)), (60, (0.9, 0.9)), (64, (0.9, 1.2))])
def test_trace_correction_gives_back_a_part_of_the_change(rows: int, spacing: tuple[float, float]) -> None:
    hu = body()[:rows]
    alone, corrected = (change(config, Measurement(hu, hu > 2000, spacing)) for config in (TINY, CORRECTED))
    assert np.abs(corrected).mean() < 0.97 * np.abs(alone).mean()  # a random network takes more than the limits return


def test_no_line_of_air_at_the_edge_of_pixels_that_are_not_square() -> None:
    """Rounding puts the first column of this grid a hair outside the square."""
    hu = np.zeros((161, 324), np.float32)
    hu[80:84, 160:164] = 3000
    corrected = change(CORRECTED, Measurement(hu, hu > 2000, (1.278746, 0.8435)))
    assert np.abs(corrected[:, 0]).max() < 300


@pytest.mark.parametrize("last", ["none", "trace_correction"])
def test_dense_bone_that_both_images_show_is_kept(last: str) -> None:
    """However dense it is, the rest of the image and the artifact stay as if it were at the limit."""
    bone = np.zeros((48, 48), np.float32)
    bone[20:23, 28:40] = 1000.0
    hu, metal = slice_with_metal()
    start = hu + np.random.default_rng(1).normal(0, 30, hu.shape).astype(np.float32)
    hu[bone > 0] = start[bone > 0] = DENSE_HU
    network = method(replace(TINY, last=last))
    plain, denser = (
        network.decompose([replace(measure(), slice_hu=hu + b, given={"li": start + b})])[0].decomposition
        for b in (0 * bone, bone)
    )
    assert plain is not None
    assert denser is not None
    pairs = zip((*denser.images, denser.image), (*plain.images, plain.image), strict=True)
    changes = [to_hu(one) - to_hu(other) - bone for one, other in pairs]
    changes.append((denser.artifacts[-1] - plain.artifacts[-1])[0, 0].numpy())
    outside = ~metal
    unchanged = all(np.allclose(one[outside], 0.0, atol=0.1) for one in changes)
    assert unchanged == (last == "trace_correction")


@pytest.mark.parametrize(("first", "function"), [("li", li), ("tracefit", trace_fit)])
def test_the_network_starts_from_the_image_of_its_configuration(
    first: str, function: Callable[[Measurement], NDArray[np.float32]]
) -> None:
    network, measurement = method(replace(TINY, first=first)), measure()
    (image,) = network.start([measurement])
    np.testing.assert_array_equal(image, function(measure()))
    from_it = method()(measure(given={"li": image})).image_hu
    np.testing.assert_allclose(network(measure()).image_hu, from_it, atol=1e-3)
    assert network.starts_from == {"li": "LI", "tracefit": "trace fit"}[first]


def test_an_image_to_start_from_that_came_with_the_slice_is_taken() -> None:
    given = {"li": slice_with_metal()[0] - np.float32(50.0)}
    measurement = measure(given=given)
    network = method()
    assert network.start([measurement])[0] is given["li"]
    assert "rays" not in measurement.__dict__  # nothing had to be projected
    image = network(measurement).image_hu
    assert not np.array_equal(image, network(measure()).image_hu)


def test_details_do_not_change_the_image() -> None:
    network = method(CORRECTED)
    plain, detailed = network(measure()), network.decompose([measure()])[0]
    np.testing.assert_array_equal(plain.image_hu, detailed.image_hu)
    assert plain.decomposition is None
    assert detailed.decomposition is not None
    assert len(detailed.decomposition.kernels) == TINY.T
    assert plain.expected_error_hu is not None
    assert plain.image_hu.dtype == plain.expected_error_hu.dtype == np.float32
    metal = measure().slice_metal
    assert (plain.expected_error_hu[metal] == 0).all()
    assert (plain.expected_error_hu[~metal] > 0).all()


@pytest.mark.parametrize("config", [TINY, CORRECTED], ids=["none", "trace_correction"])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e9])
def test_values_of_the_metal_have_no_effect(config: ACDNetConfig, value: float) -> None:
    given = {"li": li(measure())}
    expected = method(config)(measure(given=given))
    hu, metal = slice_with_metal()
    found = method(config)(replace(measure(given=given), slice_hu=np.where(metal, np.float32(value), hu)))
    np.testing.assert_array_equal(found.image_hu[~metal], expected.image_hu[~metal])
    np.testing.assert_array_equal(found.expected_error_hu, expected.expected_error_hu)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"given": {"li": np.zeros((5, 48), np.float32)}}, r"\(5, 48\)"),
        ({"given": {"li": np.full((48, 48), np.nan, np.float32)}}, "start image"),
        (
            {"slice_hu": np.full((48, 48), np.nan, np.float32), "given": {"li": np.zeros((48, 48), np.float32)}},
            "outside",
        ),
    ],
)
def test_unusable_images_are_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(InputRefused, match=message):
        method()(replace(measure(), **values))  # type: ignore[arg-type]


def test_a_method_has_the_data_of_its_card() -> None:
    model = make_model(TINY)
    training = Training(data="none", protocol="none", patches_seen=3, hours=0.5)
    count = TINY.count_parameters()
    card = Card("m", "", "acdnet", TINY, count, sha256="0" * 64, version="0", training=training)
    with_card, without = ACDNetMethod(model, card), ACDNetMethod(model)
    assert (with_card.label, with_card.weights, with_card.training) == ("ACDNet (m)", "0" * 64, training)
    assert (without.label, without.weights, without.training) == ("ACDNet", "", None)
    assert with_card.parameters == without.parameters == count
    np.testing.assert_array_equal(with_card.dictionary, model.D.detach().numpy())
