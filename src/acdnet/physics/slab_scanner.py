"""A clinical scanner for neighbouring slices: the same settings for all, metal in layers of every slice."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from acdnet.physics.beam import transmitted
from acdnet.physics.fbp import fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.materials import material
from acdnet.physics.measurement import attenuation
from acdnet.physics.projector import project
from acdnet.physics.scanner import ClinicalScanner, Settings, Simulation
from acdnet.units import WATER_MU, Image, Mask


@dataclass(frozen=True)
class Acquisition:
    """The settings of a scan."""

    source_cm: float
    detector_cm: float
    views: int
    beam: str
    photons: float
    scatter: float
    """As a share of the open beam."""
    ceiling_hu: float

    VIEWS = (984, 1152, 1440, 1800, 2304)
    """Views a turn of real scanners."""

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Acquisition:
        """Draw the settings of a scanner and a dose."""
        source = float(rng.uniform(*ClinicalScanner.SOURCE_CM))
        detector = float(rng.uniform(*ClinicalScanner.SOURCE_TO_DETECTOR_CM)) - source
        return cls(
            source,
            detector,
            int(rng.choice(cls.VIEWS)),
            str(rng.choice(ClinicalScanner.TUBES)),
            float(np.exp(rng.uniform(*np.log(ClinicalScanner.PHOTONS)))),
            float(rng.uniform(*ClinicalScanner.SCATTER_SHARE)),
            float(rng.choice(ClinicalScanner.CEILINGS_HU)),
        )


class SlabScanner(ClinicalScanner):
    """Scans one slice of a slab; metal that fills part of a pixel or of the slice thickness shows in part."""

    def __init__(self, hu: Image, pixel_mm: float, acquisition: Acquisition, views: int) -> None:
        self.acquisition = one = acquisition
        scan = FanBeam.around(len(hu), pixel_mm / 10, one.source_cm, one.detector_cm, one.views)
        self._begin(hu, pixel_mm, scan, one.beam, views)

    def with_layers(
        self, shares: NDArray[np.float32], metal: Mask, metal_name: str, rng: np.random.Generator
    ) -> Simulation:
        """Scan the slice with metal: its share in the pixels of every layer, and the mask in which it appears."""
        one = self.acquisition
        settings: Settings = {"protocol": "clinical", "metal": metal_name, "pixel_mm": self.pixel_mm, **asdict(one)}
        if not shares.any():
            return self._clean(metal, settings)
        layers = shares[:1] if (shares[0] == shares).all() else shares
        passed = [self._layer(torch.from_numpy(layer), metal_name) for layer in layers]
        trace = torch.stack([crossed for _, crossed in passed]).any(0)
        clear = transmitted(self._rays(self.paths, trace), self.beam)
        share = torch.zeros(int(trace.sum()))
        for through, crossed in passed:
            beside = clear.clone()
            beside[crossed[trace]] = through
            share += beside / len(passed)
        change = self._change(share, trace, one.photons, one.scatter, rng)
        difference = fbp(change, self.scan, "soft").numpy() * np.float32(1000.0 / WATER_MU)
        return self._finish(difference, metal, one.ceiling_hu, settings)

    def _layer(self, metal: Tensor, metal_name: str) -> tuple[Tensor, Tensor]:
        """Return the transmitted share of the rays that cross the metal of a layer, and the trace of these rays."""
        g, subrays = self.scan, self.SUBRAYS
        fine = replace(g, bins=g.bins * subrays, bin_cm=g.bin_cm / subrays)
        hidden = project(self.tissue * metal, g)  # tissue replaced by metal
        path = project(metal, fine).unflatten(1, (g.bins, subrays))
        trace = (path > 0).any(2)
        rays = self._rays(self.paths - hidden, trace)
        tissue = {name: left[:, None].expand(-1, subrays) for name, left in rays.items()}
        return transmitted({**tissue, metal_name: material(metal_name).mu * path[trace]}, self.beam).mean(1), trace

    def _clean(self, metal: Mask, settings: Settings) -> Simulation:
        """Return a slice that the metal does not reach."""
        image = np.minimum(self.clean, np.float32(self.acquisition.ceiling_hu))
        trace = np.zeros(self.geometry.sinogram_shape, bool)
        lines = project(attenuation(image), self.geometry).numpy()
        return Simulation(self.clean, image, image, metal, trace, lines, lines, self.geometry, settings)
