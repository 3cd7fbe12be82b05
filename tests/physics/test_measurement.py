import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation

from acdnet.evaluate.metrics import window_psnr
from acdnet.physics.fbp import fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.measurement import RING_WEIGHT, Measurement, hounsfield
from acdnet.physics.phantom import make_phantom
from acdnet.physics.projector import project

SIZE = 128
PHANTOM = make_phantom("thorax", 3, SIZE)


def with_metal() -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    metal = np.zeros((SIZE, SIZE), bool)
    metal[60:64, 90:95] = True
    return np.where(metal, np.float32(8000), PHANTOM.hu), metal


def measure() -> Measurement:
    return Measurement.of_square(*with_metal(), FanBeam.around(SIZE, PHANTOM.pixel_mm / 10))


def test_an_unchanged_sinogram_gives_the_image_back_away_from_metal() -> None:
    measured = measure()
    again = measured.reconstruct(measured.sinogram)
    far = np.ones((SIZE, SIZE), bool)
    far[50:74, 80:105] = False
    assert np.abs(again - measured.image)[far].max() < 0.01


def test_the_trace_covers_the_blurred_metal() -> None:
    measured = measure()
    share = measured.trace.float().mean()
    assert 0.02 < share < 0.2


def test_giving_the_grain_back_beats_plain_reconstruction() -> None:
    measured = measure()
    filled = measured.interpolated()
    plain = hounsfield(fbp(filled, measured.geometry, "textbook"))
    ours = measured.reconstruct(filled)
    scores = [window_psnr(image, PHANTOM.hu, measured.metal) for image in (plain, ours)]
    assert scores[1] > scores[0] + 1.0


def test_an_image_without_metal_comes_back() -> None:
    image = PHANTOM.hu
    measured = Measurement.of_square(image, np.zeros_like(image, bool), FanBeam.around(SIZE, 0.3))
    assert np.allclose(measured.reconstruct(measured.interpolated()), image, atol=0.01)


def test_one_projection_gives_the_trace_of_dilated_metal_and_the_path() -> None:
    measured = measure()
    wide = torch.from_numpy(binary_dilation(measured.metal)).float()
    assert torch.equal(measured.trace, project(wide, measured.geometry) > 0)
    exact = project(torch.from_numpy(measured.metal).float(), measured.geometry)
    torch.testing.assert_close(measured.path, exact, rtol=0.0, atol=10 * RING_WEIGHT * PHANTOM.pixel_mm / 10)
