"""The two protocols for scanning a slice with metal: the benchmark's, and that of a clinical scanner.

A scanner is built for one slice and projects its tissue once; `with_metal` then scans it with one implant after
another. All random numbers come from the given generator, in a fixed order.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from acdnet.physics.beam import Beam, beam, correct, count, transmitted, water_correction
from acdnet.physics.fbp import fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.materials import material
from acdnet.physics.measurement import Measurement, RawData, attenuation, hounsfield
from acdnet.physics.projector import project
from acdnet.physics.tissue import split
from acdnet.physics.trace import interpolate, soften_edges
from acdnet.units import WATER_MU, Image, Mask

Settings = dict[str, str | float]


@dataclass(frozen=True)
class Simulation:
    """A slice without metal, with metal, and after LI. Images in HU; sinograms are line integrals."""

    clean: Image
    corrupted: Image
    li: Image
    metal: Mask
    trace: Mask
    sinogram: Image
    """Measured with metal; in the clinical protocol projected from the corrupted image."""
    li_sinogram: Image
    geometry: FanBeam
    settings: Settings = field(default_factory=dict)
    """The random parameters and the important constants."""
    implant: Mask | None = None
    """The true metal, if `metal` was segmented in the corrupted image."""

    def without_sinograms(self) -> Simulation:
        """Drop the sinograms, which take most of the memory."""
        nothing = np.zeros((0, 0), np.float32)
        return replace(self, sinogram=nothing, li_sinogram=nothing, trace=nothing.astype(bool))

    def with_found_metal(self, metal: Mask) -> Simulation:
        """Replace the mask by a segmented one and recompute LI."""
        measurement = Measurement.of_square(self.corrupted, metal, self.geometry)
        filled = measurement.interpolated()
        return replace(
            self,
            li=measurement.reconstruct(filled),
            metal=metal,
            implant=self.metal,
            trace=measurement.trace.numpy(),
            sinogram=measurement.sinogram.numpy(),
            li_sinogram=filled.numpy(),
            settings=self.settings | {"found": "yes"},
        )

    def measurement(self) -> Measurement:
        """Return the slice as methods receive it."""
        if self.settings["protocol"] != "syndeeplesion":
            return Measurement.of_square(self.corrupted, self.metal, self.geometry)
        if self.sinogram.size == 0:
            raise ValueError("the sinograms were not kept")
        raw = RawData(torch.from_numpy(self.sinogram), torch.from_numpy(self.trace), self.geometry)
        mm = 10 * self.geometry.pixel_cm
        return Measurement(self.corrupted, self.metal, (mm, mm), raw, scanner=self.geometry)


class Scanner(Protocol):
    """Scans one slice with one implant after another."""

    def with_metal(self, metal: Mask, metal_name: str, rng: np.random.Generator) -> Simulation: ...


class BenchmarkScanner:
    """The protocol of the benchmark (SynDeepLesion): every patient 15 cm wide, 2e7 photons, metal added to tissue."""

    PHOTONS = 2e7
    SCATTER = 20.0

    def __init__(self, hu: Image) -> None:
        self.clean = np.maximum(hu, np.float32(-1000.0))
        self.geometry = FanBeam.benchmark(len(hu))
        self.beam = beam("benchmark")
        self.correction = water_correction(self.beam)
        water, bone = project(torch.stack(split(attenuation(self.clean))), self.geometry)
        self.paths = {"water": water, "bone": bone}
        self.share = transmitted(self.paths, self.beam)

    def without_metal(self, rng: np.random.Generator) -> tuple[Image, Image]:
        """Return the sinogram without metal and its reconstruction in HU."""
        sinogram = self._measure(self.share, rng)
        return sinogram.numpy(), hounsfield(fbp(sinogram, self.geometry, "benchmark"))

    def with_metal(self, metal: Mask, metal_name: str, rng: np.random.Generator) -> Simulation:
        path = project(torch.from_numpy(metal).float(), self.geometry)
        trace = path > 0
        share = self.share.clone()
        rays = {name: values[trace] for name, values in self.paths.items()}
        rays[metal_name] = material(metal_name).mu * soften_edges(path)[trace]
        share[trace] = transmitted(rays, self.beam)

        sinogram = self._measure(share, rng)
        filled = interpolate(sinogram, trace)
        corrupted, li = hounsfield(fbp(torch.stack([sinogram, filled]), self.geometry, "benchmark"))
        settings: Settings = {"protocol": "syndeeplesion", "metal": metal_name, "photons": self.PHOTONS}
        return Simulation(
            self.clean, corrupted, li, metal, trace.numpy(), sinogram.numpy(), filled.numpy(), self.geometry, settings
        )

    def _measure(self, share: Tensor, rng: np.random.Generator) -> Tensor:
        return correct(count(share, self.PHOTONS, self.SCATTER, rng), self.correction)


class ClinicalScanner:
    """A scanner of realistic size and dose; metal replaces tissue; only rays through metal change.

    The corrupted image is the clean image plus the difference of two reconstructions, with and without metal: it
    keeps the kernel and the noise of the original scanner. LI is computed from the corrupted image, as without raw
    data.
    """

    VIEWS = 984
    SOURCE_CM = (54.1, 59.5)
    SOURCE_TO_DETECTOR_CM = (94.9, 108.5)
    TUBES = ("100kVp", "120kVp", "120kVp", "140kVp")
    PHOTONS = (2e5, 2e6)
    SCATTER_SHARE = (1e-5, 2e-4)
    """Residual scatter per bin as a share of the open beam."""
    LOW_COUNT = 30.0
    """Bins with fewer photons are averaged with their neighbours, as scanners do to reduce noise streaks."""
    FULL = 0.5
    """Probability that metal fills the whole slice thickness; otherwise a share is drawn from `FILL`."""
    FILL = (0.5, 0.99)
    CEILINGS_HU = (3071.0, 30_000.0)
    """Scanners store 12 bits or more."""
    FLOOR_HU = -1024.0
    DEGREE = 5
    """Degree of the water correction; patients of real size need more than the benchmark's 3."""
    SUBRAYS = 2
    """Rays per bin; averaging them before the logarithm softens the edges of metal."""

    def __init__(self, hu: Image, pixel_mm: float, rng: np.random.Generator, views: int = 640) -> None:
        source = float(rng.uniform(*self.SOURCE_CM))
        detector = float(rng.uniform(*self.SOURCE_TO_DETECTOR_CM)) - source
        scan = FanBeam.around(len(hu), pixel_mm / 10, source, detector, self.VIEWS)
        self._begin(hu, pixel_mm, scan, self.TUBES[rng.integers(len(self.TUBES))], views)

    def _begin(self, hu: Image, pixel_mm: float, scan: FanBeam, tube: str, views: int) -> None:
        """Project the tissue; images are projected with another number of views."""
        self.clean = np.maximum(hu, np.float32(self.FLOOR_HU))
        self.pixel_mm = pixel_mm
        self.scan = scan
        self.geometry = FanBeam.around(len(hu), pixel_mm / 10, views=views)  # for projecting images
        self.beam: Beam = beam(tube).energy_integrating()
        self.correction = water_correction(self.beam, self.DEGREE)
        self.tissue = torch.stack(split(attenuation(self.clean)))
        self.paths = project(self.tissue, self.scan)
        self.low_count, self.window = self.LOW_COUNT, (3, 3)

    def with_metal(self, metal: Mask, metal_name: str, rng: np.random.Generator) -> Simulation:
        photons = float(np.exp(rng.uniform(*np.log(self.PHOTONS))))
        scatter = float(rng.uniform(*self.SCATTER_SHARE))
        ceiling = float(rng.choice(self.CEILINGS_HU))
        fill = 1.0 if rng.random() < self.FULL else float(rng.uniform(*self.FILL))

        share, trace = self._share(torch.from_numpy(metal), metal_name, fill)
        change = self._change(share, trace, photons, scatter, rng)
        difference = fbp(change, self.scan, "soft").numpy() * np.float32(1000.0 / WATER_MU)
        settings: Settings = {
            "protocol": "clinical",
            "metal": metal_name,
            "photons": photons,
            "scatter": scatter,
            "fill": fill,
            "ceiling_hu": ceiling,
            "beam": self.beam.name,
            "pixel_mm": self.pixel_mm,
            "source_cm": self.scan.source_cm,
            "detector_cm": self.scan.detector_cm,
        }
        return self._finish(difference, metal, ceiling, settings)

    def _finish(self, difference: Image, metal: Mask, ceiling: float, settings: Settings) -> Simulation:
        """Add the difference of the reconstructions to the clean image and compute LI from the sum."""
        corrupted = np.clip(self.clean + difference, self.FLOOR_HU, ceiling)
        measurement = Measurement.of_square(corrupted, metal, self.geometry)
        filled = measurement.interpolated()
        return Simulation(
            self.clean,
            corrupted,
            measurement.reconstruct(filled),
            metal,
            measurement.trace.numpy(),
            measurement.sinogram.numpy(),
            filled.numpy(),
            self.geometry,
            settings,
        )

    def _share(self, metal: Tensor, metal_name: str, fill: float) -> tuple[Tensor, Tensor]:
        """Return the transmitted share of the rays that cross metal, and the trace of these rays.

        Where metal fills only part of the slice thickness, the rest of the beam passes beside it.
        """
        g, subrays = self.scan, self.SUBRAYS
        fine = replace(g, bins=g.bins * subrays, bin_cm=g.bin_cm / subrays)
        hidden = project(self.tissue * metal, g)  # tissue replaced by metal
        path = project(metal.float(), fine).unflatten(1, (g.bins, subrays))
        trace = (path > 0).any(2)
        remaining = self._rays(self.paths - hidden, trace)
        tissue = {name: left[:, None].expand(-1, subrays) for name, left in remaining.items()}
        metal_path = material(metal_name).mu * path[trace]
        through = transmitted({**tissue, metal_name: metal_path}, self.beam).mean(1)
        return fill * through + (1 - fill) * transmitted(self._rays(self.paths, trace), self.beam), trace

    def _change(self, share: Tensor, trace: Tensor, photons: float, scatter: float, rng: np.random.Generator) -> Tensor:
        """Return the sinogram with metal minus that without; zero outside the trace.

        Scatter is the same in both. The clean image already contains the noise of its rays, so only the additional
        variance is drawn: 1 / N with metal minus 1 / N without.
        """
        clean = transmitted(self._rays(self.paths, trace), self.beam)
        counts = torch.full(self.scan.sinogram_shape, torch.inf)
        counts[trace] = photons * torch.exp(-count(share, photons, scatter * photons, rng))
        noisy = _without_low_counts(counts, self.low_count, self.window)[trace] / photons
        ideal = share + scatter
        added = (1 - ideal / (clean + scatter)).clamp(min=0.0).sqrt()
        with_metal = -torch.log(ideal) - added * torch.log(noisy / ideal)
        change = torch.zeros(self.scan.sinogram_shape)
        without = correct(-torch.log(clean + scatter), self.correction)
        change[trace] = correct(with_metal, self.correction) - without
        return change

    @staticmethod
    def _rays(paths: Tensor, trace: Tensor) -> dict[str, Tensor]:
        return {"water": paths[0][trace], "bone": paths[1][trace]}


def _without_low_counts(counts: Tensor, limit: float, window: tuple[int, int]) -> Tensor:
    """Average counts below a limit with their neighbours in the trace, over some views and bins (odd numbers)."""
    inside = torch.isfinite(counts)
    kept = torch.where(inside, counts, 0.0)
    if limit == 0:
        return kept
    margin = (window[0] // 2, window[1] // 2)

    def around(values: Tensor) -> Tensor:
        return torch.nn.functional.avg_pool2d(values[None], window, 1, margin)[0]

    mean = around(kept) / around(inside.to(counts)).clamp(min=1e-6)
    return torch.where(kept < limit, mean, kept)
