"""A whole slice on a device: the tensor operations of a GPU give what the compiled loops of a CPU give.

There is no GPU here. The tensor operations run on the CPU instead, and the `meta` device, which has shapes but no
numbers, shows that no step brings tensors of two devices together.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import torch

from acdnet.config import ACDNetConfig
from acdnet.fast import inference
from acdnet.fast.inference import InferenceACDNet
from acdnet.methods import trace_correction, trace_fit
from acdnet.methods.method import Method
from acdnet.methods.registry import CLASSICAL, get_method, network_method
from acdnet.physics import projector
from acdnet.physics.fbp import fbp
from acdnet.physics.filters import box_mean, gaussian
from acdnet.physics.measurement import Measurement
from acdnet.physics.projector import project, transpose
from acdnet.physics.trace import interpolate, soften_edges
from tests.helpers import make_model
from tests.methods.make import NETWORKS, SCANNER, SIZE, make_network, measure, slice_with_metal

METHODS = [*CLASSICAL, *NETWORKS]
ROUNDING_HU = 0.1
"""Sums in another order; a wrong ray would be off by tens of HU."""


def make_method(name: str) -> Method:
    """Return a classical method, or a small random network of a kind."""
    return get_method(name, "cpu") if name in CLASSICAL else network_method(make_network(name))


@contextmanager
def tensor_operations() -> Iterator[None]:
    """Compute on the CPU as on a GPU."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projector, "_compiled", lambda _: False)
        patch.setattr(inference, "_on_cpu", lambda _: False)
        yield


def several() -> list[Measurement]:
    """Return slices that differ in metal, in size and in scanner, one of them without metal."""
    hu, metal = slice_with_metal(40, 33)
    return [
        measure(),
        measure(at=(-7, 3)),
        Measurement(hu, metal, (5.0, 6.0), scanner=replace(SCANNER, size=40, views=80)),
        replace(measure(), slice_metal=np.zeros((SIZE, SIZE), bool)),
        measure(at=(9, 9)),
    ]


@pytest.mark.parametrize("name", METHODS)
def test_tensor_operations_equal_the_compiled_loops(name: str) -> None:
    expected = make_method(name)(measure())
    with tensor_operations():
        found = make_method(name)(measure())
    outside = ~measure().slice_metal
    assert np.abs(expected.image_hu - measure().slice_hu)[outside].max() > 1
    np.testing.assert_allclose(found.image_hu[outside], expected.image_hu[outside], atol=ROUNDING_HU)
    assert (found.expected_error_hu is None) == (expected.expected_error_hu is None)
    if found.expected_error_hu is not None and expected.expected_error_hu is not None:
        np.testing.assert_allclose(found.expected_error_hu, expected.expected_error_hu, atol=ROUNDING_HU)


@pytest.mark.parametrize("operations", ["compiled", "tensor"])
@pytest.mark.parametrize("name", METHODS)
def test_a_batch_equals_its_slices_one_by_one(name: str, operations: str) -> None:
    """Slices of one size, as `reduce` hands them over; those of other sizes and scanners for methods that allow it."""
    slices = several() if name in CLASSICAL else [one for one in several() if one.slice_hu.shape == (SIZE, SIZE)]
    alone = several() if name in CLASSICAL else [one for one in several() if one.slice_hu.shape == (SIZE, SIZE)]
    with tensor_operations() if operations == "tensor" else pytest.MonkeyPatch.context():
        method = make_method(name)
        together = method.batch(slices)
        one_by_one = [method(one) for one in alone]
    for one, found, expected in zip(slices, together, one_by_one, strict=True):
        outside = ~one.slice_metal
        assert found.image_hu.shape == one.slice_hu.shape
        np.testing.assert_allclose(found.image_hu[outside], expected.image_hu[outside], atol=ROUNDING_HU)


def test_no_operator_brings_two_devices_together() -> None:
    x = torch.zeros(3, SIZE, SIZE, device="meta")
    p = project(x, SCANNER)
    trace, metal = p[0] > 0, x[0] > 0
    rays = trace_fit.TraceRays(p[0], p[1], trace, metal, SCANNER, "textbook")
    half = trace_fit.every_other(rays)
    results = [
        p,
        transpose(p, SCANNER),
        *(fbp(p, SCANNER, variant) for variant in ("benchmark", "textbook", "soft")),
        interpolate(p[0], trace),
        soften_edges(p[0]),
        gaussian(x, (2.0, 3.0), ("wrap", "nearest")),
        box_mean(x, (3, 5), ("wrap", "nearest")),
        *(half.p, half.P, half.trace, half.metal),
        trace_fit.between(half.p, SCANNER),
        trace_fit.filled(rays, p[1]),
        trace_fit.prior(x[0], metal),
        trace_fit.kept(p[0], trace),
        trace_correction._limited_parts(p[0], trace, SCANNER),
    ]
    assert {one.device.type for one in results} == {"meta"}


@pytest.mark.parametrize("name", [name for name in NETWORKS if name.startswith("acdnet")])
def test_no_part_of_the_network_brings_two_devices_together(name: str) -> None:
    config = NETWORKS[name]
    assert isinstance(config, ACDNetConfig)
    x = torch.zeros(2, 1, 13, 18, device="meta")
    found = InferenceACDNet(make_model(config).to("meta"))(x, x, x == 0, details=True)
    assert {one.device.type for one in (found.image, *found.images, *found.artifacts, *found.kernels)} == {"meta"}
