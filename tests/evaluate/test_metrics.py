import numpy as np
import pytest
from numpy.typing import NDArray
from skimage.metrics import structural_similarity

from acdnet.evaluate.metrics import _made_smaller, _ssim, hu_mae, hu_rmse, regions, score, window_psnr
from acdnet.units import hu_from_mu

NO_METAL = np.zeros((40, 44), bool)


def images(seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    truth = rng.uniform(-1000, 1500, (40, 44)).astype(np.float32)
    return truth + rng.normal(0, 60, truth.shape).astype(np.float32), truth


def test_window_psnr_of_a_known_error() -> None:
    truth = hu_from_mu(np.full((8, 8), 0.25, np.float32))
    image = hu_from_mu(np.full((8, 8), 0.255, np.float32))
    assert window_psnr(image, truth, np.zeros((8, 8), bool)) == pytest.approx(40.0, abs=1e-3)
    assert window_psnr(truth, truth, np.zeros((8, 8), bool)) == float("inf")


def test_pixels_under_metal_do_not_count() -> None:
    image, truth = images()
    metal = NO_METAL.copy()
    metal[10:20, 10:20] = True
    changed = np.where(metal, np.float32(30_000), image)
    assert window_psnr(changed, truth, metal) == window_psnr(image, truth, metal)
    assert score(changed, truth, metal).rmse == score(image, truth, metal).rmse


def test_ssim_equals_an_independent_one() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.random((64, 50)), rng.random((64, 50))
    expected = structural_similarity(
        a, b, data_range=1.0, gaussian_weights=True, sigma=1.5, use_sample_covariance=False, full=True
    )[1]
    assert _ssim(a, b) == pytest.approx(float(expected[5:-5, 5:-5].mean()), abs=1e-9)
    assert _ssim(a, a) == pytest.approx(1.0)


def test_down_sampling_averages_the_pixel_and_its_followers() -> None:
    image = np.arange(416 * 420, dtype=float).reshape(416, 420)
    small = _made_smaller(image)
    assert small.shape == (208, 210)
    assert small[3, 5] == pytest.approx(image[6:8, 10:12].mean())


def test_one_bright_pixel_moves_the_paper_score_only() -> None:
    _, truth = images()
    truth = np.clip(truth, -1000, 300)
    image = truth + np.float32(5)
    bright = image.copy()
    bright[0, 0] = 1500
    before, after = score(image, truth, NO_METAL), score(bright, truth, NO_METAL)
    assert before.paper_psnr - after.paper_psnr > 3 * abs(before.window_psnr - after.window_psnr)


def test_hu_errors_by_region() -> None:
    truth = np.full((40, 44), -1000.0, np.float32)
    truth[5:35, 5:35] = 40
    truth[10:15, 10:15] = 600
    metal = NO_METAL.copy()
    metal[20:22, 20:22] = True
    truth[30:33, 30:33] = -850  # lung
    areas = regions(truth, metal)
    assert areas["body"].sum() == 900 - 4
    assert areas["bone"].sum() == 25
    assert areas["soft"].sum() == 900 - 25 - 4 - 9
    assert not (areas["ring"] & metal).any()
    image = truth + np.float32(10)
    image[10, 10] += 40
    assert hu_mae(image, truth, areas["soft"]) == pytest.approx(10)
    assert hu_rmse(image, truth, areas["bone"]) == pytest.approx(np.sqrt((24 * 100 + 2500) / 25))


def test_empty_regions_are_not_a_number() -> None:
    image, truth = images()
    scores = score(image, np.minimum(truth, 0), NO_METAL)
    assert np.isnan(scores.rmse["bone"])
    assert np.isnan(scores.rmse["ring"])
    assert np.isfinite(scores.rmse["body"])
