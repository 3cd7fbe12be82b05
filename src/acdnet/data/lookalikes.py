"""Clean slices that look as if they had metal: sharp kernels, dense enamel and bone, contrast medium, calcifications.

Each function takes a slice in HU and a random generator and returns a new slice; `imitate` combines them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft2, next_fast_len, rfft2
from scipy.ndimage import binary_dilation, uniform_filter

from acdnet.units import AIR_HU, Image, Mask

Rng = np.random.Generator
Window = tuple[slice, slice]

PEAK_LP_CM = (3.5, 8.0)
"""Line pairs per cm that a sharp kernel lifts most."""
PEAK_GAIN = (1.5, 3.0)
WIDTH = 0.75
"""Width of the rise, as the logarithm of the frequency."""
MARGIN = 16
"""Mirrored pixels around the slice, so that one side does not reach the other."""
FLOOR_HU = -1024.0
CEILING_HU = 3071.0
"""The largest value of 12 bits."""
DENSE_HU = 300.0
"""Bone and enamel lie above."""
ENAMEL_HU = (1200.0, 4500.0)
"""Range of the densest values of a slice."""
IODINE_HU = (200.0, 3071.0)
PLAQUE_HU = (400.0, 1800.0)
SOFT_HU = (-60.0, 180.0)
"""Smoothed values in which vessels lie."""
SOFT_MEAN_HU = 40.0
EDGE_MM = 0.8
"""Width of painted edges, as kernels blur them."""
SHARES = {"densify": 0.5, "contrast": 0.4, "calcify": 0.4, "sharpen": 0.7, "ceiling": 0.4}
"""How often `imitate` uses each function."""
GOES_ON = 0.8
"""Share of the neighbours into which paint goes on."""


def imitate(hu: Image, pixel_mm: float, rng: Rng) -> Image:
    """Apply some of the functions below in the order in which a scanner would; nothing exceeds 4,500 HU."""
    return imitate_neighbours([hu], 0, pixel_mm, rng)[0]


def imitate_neighbours(
    slices: Sequence[Image], number: int, pixel_mm: float, rng: Rng, metal: Sequence[Mask] | None = None
) -> list[Image]:
    """Treat neighbouring slices alike; what is painted into slice `number` goes on in most others.

    Metal keeps its values, but passes the kernel and the ceiling.
    """
    used = {name for name, share in SHARES.items() if rng.random() < share}
    seed = int(rng.integers(2**62))
    kept = [np.zeros(hu.shape, bool) if metal is None else binary_dilation(metal[n]) for n, hu in enumerate(slices)]
    images = list(slices)
    if "densify" in used:
        images = [densify(image, np.random.default_rng(seed)) for image in images]
    for name, paint in (("contrast", contrast), ("calcify", calcify)):
        if name in used:
            added = paint(images[number], pixel_mm, rng) - images[number]
            images = [image + added if n == number else _continued(image, added, rng) for n, image in enumerate(images)]
    images = [np.where(metal_here, hu, image) for hu, image, metal_here in zip(slices, images, kept, strict=True)]
    if "sharpen" in used:
        images = [sharpen(image, pixel_mm, np.random.default_rng(seed)) for image in images]
    images = [
        np.where(metal_here, image, compress(np.where(metal_here, AIR_HU, image), ENAMEL_HU[1]))
        for image, metal_here in zip(images, kept, strict=True)
    ]
    if "ceiling" in used:
        images = [ceiling(image) for image in images]
    return [np.asarray(image, np.float32) for image in images]


def _continued(image: Image, added: Image, rng: Rng) -> Image:
    """Add to a neighbour what was painted, or nothing: a little displaced, and only where the tissue is soft."""
    if rng.random() > GOES_ON:
        return image
    moved = np.roll(added, rng.integers(-1, 2, 2), (0, 1))
    return np.where((image > SOFT_HU[0] - 100) & (image < SOFT_HU[1] + 120), image + moved, image)


def sharpen(hu: Image, pixel_mm: float, rng: Rng) -> Image:
    """Imitate a sharp kernel: lift the middle frequencies, noise alike, and let the highest fall."""
    peak, gain = rng.uniform(*PEAK_LP_CM), rng.uniform(*PEAK_GAIN)
    padded = np.pad(hu, MARGIN, mode="reflect").astype(np.float32)
    shape = [next_fast_len(length, real=True) for length in padded.shape]
    cm = pixel_mm / 10
    rows, columns = np.fft.fftfreq(shape[0], cm), np.fft.rfftfreq(shape[1], cm)
    f = np.hypot(rows[:, None], columns[None]).astype(np.float32) / np.float32(peak)
    f[0, 0] = 1.0
    curve = 1 + np.float32(gain - 1) * np.exp(-0.5 * (np.log(f) / np.float32(WIDTH)) ** 2)
    curve *= 1 / (1 + (f / 2.5) ** 6)
    curve[0, 0] = 1.0
    mean = padded.mean()
    padded = np.pad(padded, [(0, want - have) for want, have in zip(shape, padded.shape, strict=True)], mode="edge")
    found = irfft2(rfft2(padded - mean) * curve, shape)[MARGIN : MARGIN + hu.shape[0], MARGIN : MARGIN + hu.shape[1]]
    return np.asarray(np.maximum(found + mean, FLOOR_HU), np.float32)


def densify(hu: Image, rng: Rng) -> Image:
    """Make enamel and cortical bone denser; the densest reach a random value up to 4,500 HU."""
    dense = hu[hu > DENSE_HU]
    if dense.size < 20:
        return hu
    top = float(np.quantile(dense, 0.999))
    target = rng.uniform(max(min(top, ENAMEL_HU[1]), ENAMEL_HU[0]), ENAMEL_HU[1])
    if top - DENSE_HU < 100:
        return hu
    part = np.maximum(hu - DENSE_HU, 0) / np.float32(top - DENSE_HU)
    lifted = DENSE_HU + (target - DENSE_HU) * part ** rng.uniform(1.0, 1.8)
    return np.asarray(np.where(hu > DENSE_HU, np.maximum(hu, lifted), hu), np.float32)


def contrast(hu: Image, pixel_mm: float, rng: Rng) -> Image:
    """Paint contrast medium into soft tissue: vessels across and along the slice, and filled organs."""
    image = np.array(hu, np.float32)
    soft = _soft_tissue(hu, pixel_mm)
    for _ in range(rng.integers(1, 6)):
        peak = float(np.exp(rng.uniform(*np.log(IODINE_HU))))
        radius = float(np.exp(rng.uniform(np.log(1.0), np.log(14.0))))
        length = radius * rng.uniform(2, 10) if rng.random() < 0.4 else 0.0
        _paint(image, soft, pixel_mm, peak, (radius, radius * rng.uniform(0.6, 1.0)), length, rng)
    return image


def calcify(hu: Image, pixel_mm: float, rng: Rng) -> Image:
    """Paint calcifications into soft tissue: spots, and plaques along the wall of a vessel."""
    image = np.array(hu, np.float32)
    soft = _soft_tissue(hu, pixel_mm)
    for _ in range(rng.integers(1, 8)):
        peak = rng.uniform(*PLAQUE_HU)
        radius = float(np.exp(rng.uniform(np.log(0.5), np.log(3.0))))
        length = rng.uniform(3, 14) if rng.random() < 0.5 else 0.0
        _paint(image, soft, pixel_mm, peak, (radius, radius * rng.uniform(0.4, 1.0)), length, rng)
    return image


def ceiling(hu: Image, limit: float = CEILING_HU) -> Image:
    """Cut values off as scanners with 12 bits do."""
    return np.minimum(hu, np.float32(limit))


def compress(hu: Image, limit: float) -> Image:
    """Scale the values above half of a limit so that none exceeds it."""
    top, half = float(hu.max()), limit / 2
    if top <= limit:
        return hu
    return np.where(hu > half, half + (hu - half) * np.float32((limit - half) / (top - half)), hu).astype(np.float32)


def _soft_tissue(hu: Image, pixel_mm: float) -> NDArray[np.bool_]:
    smooth = uniform_filter(hu, max(3, round(4.0 / pixel_mm)))
    return np.asarray((smooth > SOFT_HU[0]) & (smooth < SOFT_HU[1]))


def _paint(
    image: Image,
    soft: NDArray[np.bool_],
    pixel_mm: float,
    peak: float,
    radii: tuple[float, float],
    length: float,
    rng: Rng,
) -> None:
    """Paint an ellipse, or a bent bar of some length, in place, where the tissue is soft."""
    pixels = np.flatnonzero(soft)
    if len(pixels) == 0:
        return
    row, column = np.unravel_index(rng.choice(pixels), soft.shape)
    reach = round((max(radii) + length + 2 * EDGE_MM) / pixel_mm) + 1
    rows = slice(max(0, row - reach), row + reach + 1)
    columns = slice(max(0, column - reach), column + reach + 1)
    y = (np.arange(image.shape[0])[rows, None] - row) * pixel_mm
    x = (np.arange(image.shape[1])[None, columns] - column) * pixel_mm
    turn, bend = rng.uniform(0, np.pi), rng.uniform(-0.4, 0.4) / max(length, 10.0)
    along, across = x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)
    across = across - bend * along**2
    beyond = along - np.clip(along, -length / 2, length / 2)
    inside = min(radii) * (1 - np.hypot(beyond / radii[0], across / radii[1]))
    alpha = np.clip(0.5 + inside / EDGE_MM, 0, 1).astype(np.float32)
    tissue = image[rows, columns]
    keep = (tissue > SOFT_HU[1] + 120) | (tissue < -300)  # bone and air stay
    alpha[keep] = 0
    image[rows, columns] = tissue + alpha * np.float32(peak - SOFT_MEAN_HU)  # keeps the texture
