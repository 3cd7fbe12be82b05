from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from acdnet.config import NETWORKS, DualConfig
from acdnet.methods.learned.dual import DSCMAR, DUAL, DualNetwork, DuDoNet, DuDoNetPlus, make_dual
from acdnet.methods.learned.observed import Observed, observe
from acdnet.methods.learned.sinogram_net import SinogramNet
from acdnet.physics.geometry import FanBeam
from acdnet.physics.measurement import Measurement
from acdnet.weights.networks import build

SPREAD = 0.05
SIZE = 32
SCANNER = FanBeam(SIZE, pixel_cm=0.5, views=40, bins=51, bin_cm=0.9, source_cm=60.0, detector_cm=50.0)


def measure() -> Measurement:
    """Return a disc of water with a bone and a piece of metal that causes streaks, so small that few ReLUs switch."""
    y, x = np.mgrid[:SIZE, :SIZE] - (SIZE - 1) / 2
    hu = np.where(x**2 + y**2 < 13**2, 20.0, -1000.0)
    hu[(x - 5) ** 2 + y**2 < 9] = 700.0
    metal = (x + 4) ** 2 + (y - 2) ** 2 < 3
    streaks = 150 * np.sin(x / 2) * np.exp(-((y - 2) ** 2) / 8)
    hu = np.where(metal, 4000.0, hu + np.where(hu > -900, streaks, 0.0))
    return Measurement.of_square(hu.astype(np.float32), metal, SCANNER)


def small(kind: type[DualConfig], width: int = 2) -> DualNetwork:
    """Return a small network whose last layers do something."""
    torch.manual_seed(1)
    model = make_dual(kind(width=width))
    nn.init.normal_(model.image_net.last.weight, std=SPREAD)
    return model


@pytest.fixture(scope="module")
def observed() -> Observed:
    return observe(measure())


@pytest.mark.parametrize(
    ("name", "count"),
    [("cnnmar", 28_929), ("dudonet", 25_834_251), ("dscmar", 25_834_251), ("dudonet++", 25_983_627)],
)
def test_published_counts(name: str, count: int) -> None:
    assert NETWORKS[name].count_parameters() == count
    assert sum(value.numel() for value in build(NETWORKS[name]).parameters()) == count


def test_the_two_parts_have_their_published_counts() -> None:
    model = make_dual(NETWORKS["dudonet"])  # type: ignore[arg-type]
    assert sum(value.numel() for value in model.sinogram_net.parameters()) == 12_439_498
    assert sum(value.numel() for value in model.image_net.parameters()) == 13_394_753


@pytest.mark.parametrize("kind", DUAL)
def test_rays_that_miss_the_metal_are_kept(kind: type[DualConfig], observed: Observed) -> None:
    found = small(kind).eval()(observed)
    outside = observed.trace == 0
    source = observed.S_li if issubclass(DUAL[kind], DuDoNet) else observed.S
    torch.testing.assert_close(found.sinogram[outside], source[outside])
    assert (found.sinogram[~outside] - source[~outside]).abs().max() > 1e-3
    assert found.image.shape == observed.Y.shape


def test_each_method_equals_its_equation(observed: Observed) -> None:
    o = observed
    for kind, network in DUAL.items():
        model = small(kind).eval()
        found = model(o)
        if network is DSCMAR:
            prior = o.X_li + model.image_net(torch.cat((o.Y, o.X_li), 1))
            inside = o.project(prior) + model.sinogram_net(o.S_li - o.project(prior), o.trace)
            S = torch.where(o.trace > 0, inside, o.S)
            torch.testing.assert_close(found.between, prior)
            torch.testing.assert_close(found.image, o.reconstruct(S))
        elif network is DuDoNet:
            S = torch.where(o.trace > 0, model.sinogram_net(o.S_li, o.trace), o.S_li)
            X = o.reconstruct(S)
            torch.testing.assert_close(found.image, o.X_li + model.image_net(torch.cat((X, o.X_li), 1)))
        else:
            assert network is DuDoNetPlus
            S = torch.where(o.trace > 0, model.sinogram_net(o.S, o.path), o.S)
            X = o.reconstruct(S)
            torch.testing.assert_close(found.image, X + model.image_net(torch.cat((X, o.Y, 1 - o.I), 1)))
        torch.testing.assert_close(found.sinogram, S)


@pytest.mark.parametrize("kind", DUAL)
def test_gradients_through_projector_and_reconstruction(kind: type[DualConfig], observed: Observed) -> None:
    names = ("Y", "X_li", "I", "S", "S_li", "trace", "path", "grain")
    o = replace(observed, **{name: getattr(observed, name).double() for name in names})
    model = small(kind, width=8).double().eval()

    def loss() -> Any:
        found = model(o)
        return found.image.square().mean() + found.sinogram.square().mean() + found.between.square().mean()

    parameters = list(model.parameters())
    torch.manual_seed(2)
    gradient = torch.autograd.grad(loss(), parameters)
    assert all(one.abs().max() > 0 for one in gradient)
    for _ in range(3):
        direction = [torch.randn_like(value) for value in parameters]
        expected = sum(float((g * d).sum()) for g, d in zip(gradient, direction, strict=True))
        step, values = 1e-8, []  # so small that few ReLUs change sides
        for sign in (1, -1):
            with torch.no_grad():
                for value, d in zip(parameters, direction, strict=True):
                    value.add_(d, alpha=sign * step)
                values.append(float(loss()))
                for value, d in zip(parameters, direction, strict=True):
                    value.sub_(d, alpha=sign * step)
        assert (values[0] - values[1]) / (2 * step) == pytest.approx(expected, rel=1e-4, abs=1e-9)


def test_a_periodic_network_has_no_first_view() -> None:
    torch.manual_seed(0)
    net = SinogramNet(NETWORKS["dudonet-s"], periodic=True).eval()  # type: ignore[arg-type]
    sinogram, path = torch.rand(2, 1, 1, 384, 40)
    turned = net(sinogram.roll(192, -2), path.roll(192, -2))
    torch.testing.assert_close(turned.roll(-192, -2), net(sinogram, path), atol=1e-6, rtol=0)
    plain = SinogramNet(NETWORKS["dudonet-s"])  # type: ignore[arg-type]
    plain.load_state_dict(net.state_dict())
    off = (plain(sinogram, path) - net(sinogram, path)).abs()
    assert off[..., 0, :].max() > 1e-3


def test_a_new_network_returns_li(observed: Observed) -> None:
    model = make_dual(NETWORKS["dudonet-s"]).eval()  # type: ignore[arg-type]
    torch.testing.assert_close(model(observed).image, observed.X_li)


def test_the_reconstruction_is_that_of_the_methods(observed: Observed) -> None:
    measurement = measure()
    S = measurement.interpolated()
    ours = 1000 * (observed.reconstruct(S[None, None] * observed.shrunk)[0, 0].numpy() - 1)
    assert abs(ours - measurement.reconstruct(S)).max() < 0.05


def test_the_size_of_a_pixel_does_not_matter_to_the_networks(observed: Observed) -> None:
    lengths = ("pixel_cm", "bin_cm", "source_cm", "detector_cm")
    larger = replace(SCANNER, **{name: 3 * getattr(SCANNER, name) for name in lengths})
    measurement = measure()
    other = observe(Measurement.of_square(measurement.image, measurement.metal, larger))
    for name in ("S", "S_li", "path", "X_li", "Y", "trace", "grain"):
        torch.testing.assert_close(getattr(other, name), getattr(observed, name), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(other.project(other.Y), observed.project(observed.Y), atol=1e-4, rtol=1e-4)


def test_slices_of_the_benchmark_are_not_rescaled() -> None:
    for size in (32, 416):
        geometry = FanBeam.benchmark(size)
        assert replace(observe(measure()), geometry=geometry).shrunk == 1.0
