"""The settings of a simulated scan: scanner, dose, filtering of starved rays and kernel, as real scanners have them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.fft import next_fast_len
from torch import Tensor

from acdnet.physics.geometry import FanBeam
from acdnet.physics.scanner import ClinicalScanner

VIEWS = (984, 1152, 1440, 1800, 2304)
"""Views a turn of real scanners."""
VIEWS_OF_DOSE = 984
FLUENCE = 4500.0
"""Photons a mAs, mm^2 at the centre of rotation, and view of `VIEWS_OF_DOSE`: 1.5 million a mm^2 and mAs at 1 m."""
MAS = (60.0, 400.0)
"""Tube current times the time of a turn."""
FILTERED = 0.5
"""Share of the scanners that filter starved rays."""
FILTER_BELOW = (10.0, 300.0)
"""Counts below which they do."""
FILTER_WINDOWS = ((3, 3), (1, 5), (3, 5), (1, 9))
"""Views and bins that they average."""
KERNELS = {
    "soft": ((2.8, 3.8), (0.0, 0.0)),
    "standard": ((3.8, 5.2), (0.0, 0.2)),
    "sharp": ((6.0, 9.0), (0.2, 1.0)),
}
"""Line pairs per cm at which a kernel passes half, and the height of its rise before; each is drawn from a range."""
KERNEL_SHARES = (0.4, 0.4, 0.2)
STEEPNESS = 2.5
FINEST = 0.9
"""A kernel passes half at this share of the finest frequency of the pixels at most."""


@dataclass(frozen=True)
class Acquisition:
    """The settings of a scan."""

    source_cm: float
    detector_cm: float
    views: int
    beam: str
    mas: float
    scatter: float
    """As a share of the open beam."""
    ceiling_hu: float
    low_count: float
    """Bins with fewer photons are averaged with their neighbours; 0 leaves them."""
    window: tuple[int, int]
    """Views and bins of this average."""
    kernel: str
    half_lp_cm: float
    """Line pairs per cm of which the kernel passes half."""
    rise: float
    """Height by which the kernel lifts frequencies below that."""

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Acquisition:
        """Draw a scanner, a dose and a kernel."""
        source = float(rng.uniform(*ClinicalScanner.SOURCE_CM))
        detector = float(rng.uniform(*ClinicalScanner.SOURCE_TO_DETECTOR_CM)) - source
        kernel = str(rng.choice(list(KERNELS), p=KERNEL_SHARES))
        halves, rises = KERNELS[kernel]
        filtered = rng.random() < FILTERED
        return cls(
            source,
            detector,
            int(rng.choice(VIEWS)),
            str(rng.choice(ClinicalScanner.TUBES)),
            _log_uniform(rng, *MAS),
            float(rng.uniform(*ClinicalScanner.SCATTER_SHARE)),
            float(rng.choice(ClinicalScanner.CEILINGS_HU)),
            _log_uniform(rng, *FILTER_BELOW) if filtered else 0.0,
            FILTER_WINDOWS[rng.integers(len(FILTER_WINDOWS))],
            kernel,
            float(rng.uniform(*halves)),
            float(rng.uniform(*rises)),
        )

    def photons(self, scan: FanBeam, thickness_mm: float) -> float:
        """Return the photons of a bin in a view without an object."""
        bin_mm = 10 * scan.pitch * scan.pixel_cm
        return FLUENCE * self.mas * bin_mm * thickness_mm * VIEWS_OF_DOSE / self.views

    def filtered(self, lines: Tensor, scan: FanBeam) -> Tensor:
        """Filter line integrals along the detector with the kernel; the ramp follows."""
        bin_cm = scan.pitch * scan.pixel_cm
        half = min(self.half_lp_cm, FINEST * 0.5 / scan.pixel_cm)
        length = next_fast_len(2 * scan.bins, real=True)
        f = torch.fft.rfftfreq(length, bin_cm) / half
        gain = torch.exp(-np.log(2.0) * f**STEEPNESS) * (1 + self.rise * f**2 * torch.exp(1 - f**2))
        found: Tensor = torch.fft.irfft(torch.fft.rfft(lines, length) * gain, length)
        return found[..., : scan.bins]


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
