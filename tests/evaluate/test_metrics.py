import numpy as np
import pytest

from acdnet.evaluate.metrics import hu_rmse, window_psnr


def test_psnr_of_a_known_error() -> None:
    truth = np.zeros((10, 10), np.float32)  # water, 0.192 / cm
    image = truth + np.float32(1000 * 0.05 / 0.192)  # 0.05 / cm more, a tenth of the window
    nothing = np.zeros((10, 10), bool)
    assert window_psnr(image, truth, nothing) == pytest.approx(20.0, abs=1e-3)
    half = nothing.copy()
    half[:5] = True
    assert window_psnr(image, truth, half) == pytest.approx(20.0 + 10 * np.log10(2), abs=1e-3)


def test_what_lies_outside_the_window_does_not_count() -> None:
    truth = np.full((4, 4), 3000, np.float32)
    assert window_psnr(truth + 500, truth, np.zeros((4, 4), bool)) == float("inf")


def test_rmse_of_a_region() -> None:
    truth = np.zeros((4, 4), np.float32)
    image = truth.copy()
    image[0] = 7
    region = np.zeros((4, 4), bool)
    region[0] = True
    assert hu_rmse(image, truth, region) == pytest.approx(7)
