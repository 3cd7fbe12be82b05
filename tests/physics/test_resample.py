import numpy as np
import pytest

from acdnet.physics.resample import SquareGrid


@pytest.mark.parametrize("shape", [(64, 64), (61, 70), (70, 61), (33, 64)])
def test_square_pixels_are_only_padded(shape: tuple[int, int]) -> None:
    image = np.random.default_rng(0).normal(0, 100, shape).astype(np.float32)
    grid = SquareGrid(shape, (0.8, 0.8))
    square = grid.to_square(image)
    assert square.shape == (max(shape), max(shape))
    assert np.array_equal(grid.from_square(square), image)
    assert (square == -1000).sum() == square.size - image.size


@pytest.mark.parametrize("spacing", [(0.7, 0.9), (1.0, 0.6)])
def test_other_pixels_are_resampled_and_given_back(spacing: tuple[float, float]) -> None:
    """A straight ramp in mm survives; what resampling loses is given back away from metal."""
    shape = (60, 50)
    y, x = np.mgrid[: shape[0], : shape[1]]
    ramp = (10 * y * spacing[0] + 3 * x * spacing[1]).astype(np.float32)
    grid = SquareGrid(shape, spacing)
    square = grid.to_square(ramp)
    assert square.shape == (grid.size, grid.size)
    middle = slice(grid.size // 2 - 5, grid.size // 2 + 5)
    steps = np.diff(square[middle, middle], axis=0)
    assert steps == pytest.approx(10 * grid.pixel_mm, abs=1e-3)
    rng = np.random.default_rng(1)
    image = (ramp + rng.normal(0, 50, shape)).astype(np.float32)
    metal = np.zeros(shape, bool)
    metal[20:24, 20:24] = True
    restored = grid.restore(grid.to_square(image), image, grid.to_square(image), metal)
    assert np.abs(restored - image)[:, 40:].max() < 1e-3
