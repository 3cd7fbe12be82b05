"""The scanner geometry: a fan beam from a rotating source to a flat detector.

Axis 0 of an image is x, axis 1 is y, and the centre of rotation is its centre. At angle a the source is at
R (sin a, -cos a) and the detector axis points along (cos a, sin a). A ray is identified by its view (angle) and its
detector bin; angles and bins are cell centres.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import ConfigError

MOST_FAN = math.radians(44.0)
"""Half of the fan must stay below 45 degrees, so that a ray of a view near 0 runs along y rather than x."""

WIDEST_FAN = math.radians(40.0)
"""Half of the widest fan that `around` chooses."""

BENCHMARK_SOURCE_PX = 1075.0
"""Source to centre, and centre to detector, of the benchmark, in pixels."""


@dataclass(frozen=True)
class FanBeam:
    """The geometry of the rays. Lengths are in cm; the field is a square of size x size pixels."""

    size: int
    pixel_cm: float
    views: int
    bins: int
    bin_cm: float
    """Width of a detector bin, on the detector."""
    source_cm: float
    """Source to centre of rotation."""
    detector_cm: float
    """Centre of rotation to detector."""

    def __post_init__(self) -> None:
        lengths = {name: getattr(self, name) for name in ("pixel_cm", "bin_cm", "source_cm", "detector_cm")}
        for name, value in lengths.items():
            if not (math.isfinite(value) and value > 0):
                raise ConfigError(f"geometry: {name} is {value}; it must be positive")
        if self.size < 2 or self.bins < 2:
            raise ConfigError(f"geometry: {self.size} pixels and {self.bins} bins; both must be at least 2")
        if self.views < 8 or self.views % 8:
            raise ConfigError(f"geometry: {self.views} views; the number must be a multiple of 8")
        if math.atan(self.bins * self.pitch / 2 / self.source) > MOST_FAN:
            raise ConfigError("geometry: the fan is wider than 88 degrees; move the source away or use fewer bins")
        if math.sqrt(0.5) * self.size >= self.source:
            raise ConfigError("geometry: the source lies inside the image; check the pixel size")

    @classmethod
    def benchmark(cls, size: int = 416) -> FanBeam:
        """Return the geometry of the benchmark: 640 views, 641 bins over the diagonal of a 15.36 cm field."""
        pixel = 512 * 0.03 / size
        source = BENCHMARK_SOURCE_PX * 512 * 0.03 / 416
        return cls(size, pixel, 640, 641, 2 * math.sqrt(2) * size * pixel / 641, source, source)

    @classmethod
    def around(
        cls, size: int, pixel_cm: float, source_cm: float = 57.0, detector_cm: float = 47.0, views: int = 640
    ) -> FanBeam:
        """Return a scanner whose fan covers the whole square image, with bins a little finer than its pixels.

        If the image is too wide for the distances, the source is moved away.
        """
        radius = math.sqrt(0.5) * size * pixel_cm
        source_cm = max(source_cm, radius / math.sin(WIDEST_FAN))
        half_width = source_cm * math.tan(math.asin(radius / source_cm))
        pitch = 0.92 * pixel_cm
        bins = 2 * math.ceil(half_width / pitch) + 1
        magnification = (source_cm + detector_cm) / source_cm
        return cls(size, pixel_cm, views, bins, pitch * magnification, source_cm, detector_cm)

    @classmethod
    def of(cls, size: int, pixel_mm: float | None) -> FanBeam:
        """Return a scanner around an image; without a pixel size, that of the benchmark."""
        return cls.benchmark(size) if pixel_mm is None else cls.around(size, pixel_mm / 10)

    @property
    def source(self) -> float:
        """Source to centre in pixels."""
        return self.source_cm / self.pixel_cm

    @property
    def pitch(self) -> float:
        """Width of a bin in pixels, at the centre of rotation."""
        return self.bin_cm * self.source_cm / (self.source_cm + self.detector_cm) / self.pixel_cm

    @property
    def angles(self) -> NDArray[np.float64]:
        """Angle a of each view."""
        return np.asarray((np.arange(self.views) + 0.5) * (2 * np.pi / self.views), np.float64)

    @property
    def positions(self) -> NDArray[np.float64]:
        """Position s of each bin in pixels, on the line through the centre parallel to the detector."""
        return np.asarray((np.arange(self.bins) + 0.5 - self.bins / 2) * self.pitch, np.float64)

    @property
    def sinogram_shape(self) -> tuple[int, int]:
        """Views and bins."""
        return self.views, self.bins
