"""A clinical scanner for neighbouring slices: the same settings for all, metal in layers of every slice."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from acdnet.physics.acquisition import Acquisition
from acdnet.physics.beam import transmitted
from acdnet.physics.fbp import fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.materials import material
from acdnet.physics.projector import project
from acdnet.physics.scanner import ClinicalScanner, Settings, Simulation
from acdnet.units import WATER_MU, Image, Mask


class SlabScanner(ClinicalScanner):
    """Scans one slice of a slab; metal that fills part of a pixel or of the slice thickness shows in part."""

    def __init__(self, hu: Image, pixel_mm: float, thickness_mm: float, acquisition: Acquisition, views: int) -> None:
        self.acquisition = one = acquisition
        scan = FanBeam.around(len(hu), pixel_mm / 10, one.source_cm, one.detector_cm, one.views)
        self._begin(hu, pixel_mm, scan, one.beam, views)
        self.low_count, self.window = one.low_count, one.window
        self.photons = one.photons(scan, thickness_mm)

    def with_layers(
        self, shares: NDArray[np.float32], metal: Mask, metal_name: str, rng: np.random.Generator
    ) -> Simulation:
        """Scan the slice with metal: its share in the pixels of every layer, and the mask in which it appears."""
        one = self.acquisition
        layers = shares[:1] if (shares[0] == shares).all() else shares
        passed = [self._layer(torch.from_numpy(layer), metal_name) for layer in layers]
        trace = torch.stack([crossed for _, crossed in passed]).any(0)
        clear = transmitted(self._rays(self.paths, trace), self.beam)
        share = torch.zeros(int(trace.sum()))
        for through, crossed in passed:
            layer = clear.clone()
            layer[crossed[trace]] = through
            share += layer / len(passed)
        change = self._change(share, trace, self.photons, one.scatter, rng)
        difference = fbp(one.filtered(change, self.scan), self.scan).numpy() * np.float32(1000.0 / WATER_MU)
        settings = {**settings_of(one, metal_name, self.pixel_mm), "photons": self.photons}
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


def settings_of(acquisition: Acquisition, metal_name: str, pixel_mm: float) -> Settings:
    """Return the settings as a store notes them."""
    known = {**asdict(acquisition), "window": "x".join(map(str, acquisition.window))}
    return {"protocol": "clinical", "metal": metal_name, "pixel_mm": pixel_mm, **known}


def without_metal(hu: Image, pixel_mm: float, metal_name: str, acquisition: Acquisition, views: int) -> Simulation:
    """Return a slice of a slab that its metal does not reach, without sinograms."""
    clean = np.maximum(hu, np.float32(ClinicalScanner.FLOOR_HU))
    image = np.minimum(clean, np.float32(acquisition.ceiling_hu))
    nothing = np.zeros((0, 0), np.float32)
    geometry = FanBeam.around(len(hu), pixel_mm / 10, views=views)
    settings = settings_of(acquisition, metal_name, pixel_mm)
    return Simulation(
        clean, image, image, np.zeros(hu.shape, bool), nothing.astype(bool), nothing, nothing, geometry, settings
    )
