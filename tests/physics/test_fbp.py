import numpy as np
import pytest
import torch

from acdnet.physics.fbp import Variant, fbp, ramp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.projector import project
from acdnet.units import WATER_MU, hu_from_mu
from tests.physics import plain

CLINICAL = FanBeam.around(256, 0.15)


@pytest.mark.parametrize("variant", ["textbook", "soft"])
def test_water_disc_within_one_hu(variant: Variant) -> None:
    lengths = plain.disc_projection(CLINICAL, 2.0, -1.0, 12.0)
    hu = hu_from_mu(fbp(torch.from_numpy(lengths * WATER_MU).float(), CLINICAL, variant)).numpy()
    inside = plain.disc(CLINICAL, 2.0, -1.0, 11.0) == 1
    assert abs(hu[inside].mean()) < 1.0
    assert np.abs(hu[inside]).max() < 5.0
    outside = plain.disc(CLINICAL, 2.0, -1.0, 13.0) == 0
    assert abs(hu[outside].mean() + 1000) < 5.0


def test_projecting_and_reconstructing_gives_the_image_back() -> None:
    g = FanBeam.around(128, 0.2)
    x, y = np.ogrid[:128, :128]
    image = torch.from_numpy(np.exp(-((x - 70.0) ** 2 + (y - 50.0) ** 2) / 200)).float()
    assert torch.allclose(fbp(project(image, g), g), image, atol=0.01)


def test_benchmark_differs_slightly_from_the_textbook() -> None:
    g = FanBeam.benchmark()
    lines = torch.from_numpy(plain.disc_projection(g, 0.0, 0.0, 5.0) * WATER_MU).float()
    inside = torch.from_numpy(plain.disc(g, 0.0, 0.0, 4.5) == 1)
    ours, theirs = (fbp(lines, g, variant)[inside].mean() for variant in ("textbook", "benchmark"))
    assert 0.001 < abs(float(theirs / ours) - 1) < 0.03


def test_gradient_through_projector_and_fbp() -> None:
    g = FanBeam(size=12, pixel_cm=0.5, views=16, bins=19, bin_cm=0.9, source_cm=20.0, detector_cm=11.0)
    image = torch.rand(12, 12, dtype=torch.float64, requires_grad=True)
    for variant in ("benchmark", "textbook", "soft"):
        assert torch.autograd.gradcheck(lambda x, v=variant: fbp(project(x, g), g, v), image, fast_mode=True)


@pytest.mark.parametrize("variant", ["benchmark", "textbook"])
def test_ramp_is_a_linear_convolution(variant: Variant) -> None:
    """The last bin knows nothing of the first beyond what the kernel's far end says."""
    g = FanBeam(size=12, pixel_cm=0.5, views=8, bins=19, bin_cm=0.9, source_cm=20.0, detector_cm=11.0)
    pulse = torch.zeros(8, 19, dtype=torch.float64)
    pulse[:, 0] = 1.0
    answer = ramp(pulse, g, variant)
    moved = ramp(pulse.roll(9, 1), g, variant)
    assert torch.allclose(moved[:, 9:], answer[:, :10])
    assert torch.allclose(moved[:, :9], answer[:, 1:10].flip(1))


def test_stacks() -> None:
    g = FanBeam.around(32, 0.5)
    lines = torch.rand(2, 3, *g.sinogram_shape)
    assert torch.allclose(fbp(lines, g)[1, 2], fbp(lines[1, 2], g), atol=1e-6)
