import numpy as np
import pytest
import torch
from torch import Tensor

from acdnet.physics import projector
from acdnet.physics.geometry import FanBeam
from acdnet.physics.projector import back_project, project, transpose
from tests.helpers import with_threads
from tests.physics import plain

ODD = FanBeam(size=13, pixel_cm=0.5, views=24, bins=18, bin_cm=0.9, source_cm=20.0, detector_cm=11.0)
WIDE = FanBeam(size=16, pixel_cm=1.0, views=16, bins=37, bin_cm=1.3, source_cm=19.0, detector_cm=12.0)
"""A fan of 75 degrees: many rays of a view run along the other axis than its central one."""


def picture(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(1), dtype=dtype)


@pytest.mark.parametrize("g", [ODD, WIDE], ids=["odd", "wide"])
def test_line_integrals_equal_a_plain_statement(g: FanBeam) -> None:
    images = picture((3, g.size, g.size), torch.float64)
    found = project(images, g)
    for image, sinogram in zip(images, found, strict=True):
        assert torch.allclose(sinogram, torch.from_numpy(plain.project(image.numpy(), g)), atol=1e-11)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("g", [ODD, WIDE], ids=["odd", "wide"])
def test_back_projection_equals_a_plain_statement(g: FanBeam, power: int) -> None:
    sinogram = picture(g.sinogram_shape, torch.float64)
    expected = torch.from_numpy(plain.back_project(sinogram.numpy(), g, power))
    assert torch.allclose(back_project(sinogram, g, power), expected, atol=1e-11)


@pytest.mark.parametrize("g", [ODD, WIDE, FanBeam.benchmark(104)], ids=["odd", "wide", "benchmark"])
def test_transpose_is_the_transpose(g: FanBeam) -> None:
    x, y = picture((2, g.size, g.size)), picture((2, *g.sinogram_shape))
    left = (project(x, g).double() * y).sum()
    right = (transpose(y, g).double() * x).sum()
    assert abs(left - right) / abs(left) <= 1e-5


@pytest.mark.parametrize("at", [(0.0, 0.0), (1.2, -2.1)])
def test_disc_projections_equal_theory(at: tuple[float, float]) -> None:
    g = FanBeam.benchmark()
    shares = torch.from_numpy(plain.disc(g, *at, radius=5.0))
    exact = torch.from_numpy(plain.disc_projection(g, *at, radius=5.0))
    inner = exact > 5.0
    error = (project(shares, g) - exact).abs() / exact
    assert error[inner].max() <= 0.003
    assert project(shares, g).sum() == pytest.approx(float(exact.sum()), rel=1e-4)


def test_gradients_of_all_three() -> None:
    image, sinogram = picture((13, 13), torch.float64), picture(ODD.sinogram_shape, torch.float64)
    assert torch.autograd.gradcheck(lambda x: project(x, ODD), image.requires_grad_(), fast_mode=True)
    assert torch.autograd.gradcheck(lambda y: transpose(y, ODD), sinogram.requires_grad_(), fast_mode=True)
    assert torch.autograd.gradcheck(lambda y: back_project(y, ODD, 2), sinogram, fast_mode=True)
    assert torch.autograd.gradgradcheck(lambda x: project(x, ODD) ** 2, image, fast_mode=True)


@pytest.mark.parametrize("power", [1, 2])
def test_other_devices_take_the_same_steps(power: int, monkeypatch: pytest.MonkeyPatch) -> None:
    image, sinogram = picture((3, 16, 16)), picture((3, *WIDE.sinogram_shape))

    def all_four() -> list[Tensor]:
        back = projector._pixels_transposed(image, WIDE, power)
        return [project(image, WIDE), transpose(sinogram, WIDE), back_project(sinogram, WIDE, power), back]

    compiled = all_four()
    monkeypatch.setattr(projector, "_compiled", lambda _: False)
    for ours, theirs in zip(compiled, all_four(), strict=True):
        assert torch.allclose(ours, theirs, atol=2e-5, rtol=1e-5)


def test_threads_and_batches_do_not_change_a_bit() -> None:
    g = FanBeam.benchmark(96)
    images = picture((3, 96, 96))
    one, three = with_threads((1, 3), lambda: (project(images, g), back_project(project(images, g), g)))
    assert torch.equal(one[0], three[0])
    assert torch.equal(one[1], three[1])
    assert torch.equal(project(images[2], g), one[0][2])


def test_empty_parts_of_an_image_are_left_out_without_harm() -> None:
    g = FanBeam.benchmark(64)
    image = torch.zeros(64, 64)
    image[50, 7] = 1.0
    dense = project(image + 1.0, g) - project(torch.ones(64, 64), g)
    assert torch.allclose(project(image, g), dense, atol=1e-5)
    assert not project(torch.zeros(64, 64), g).any()


def test_leading_axes_are_kept() -> None:
    images = picture((2, 3, 13, 13))
    assert project(images, ODD).shape == (2, 3, 24, 18)
    assert torch.equal(project(images, ODD)[1, 2], project(images[1, 2], ODD))
    assert back_project(project(images, ODD), ODD).shape == images.shape


def test_nan_is_not_hidden() -> None:
    image = picture((13, 13))
    image[6, 6] = float("nan")
    assert torch.isnan(project(image, ODD)).any()


@pytest.mark.parametrize("shape", [(12, 13), (3, 14, 14)])
def test_wrong_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="geometry needs"):
        project(torch.zeros(shape), ODD)
    with pytest.raises(ValueError, match="geometry needs"):
        back_project(torch.zeros(shape), ODD)


def test_mirrored_images_have_mirrored_sinograms() -> None:
    image = picture((13, 13))
    mirrored = project(image.flip(0), ODD)
    assert np.allclose(mirrored.flip(0, 1), project(image, ODD), atol=1e-5)
