r"""A slice with metal in both domains, as tensors: what the dual-domain networks are given.

Images are in units of water (mu / 0.192 per cm), B x 1 x H x W; sinograms are line integrals, B x 1 x views x bins, as
if every slice were as wide as the benchmark's, 15.36 cm: networks see the same numbers whatever the size of a pixel. A
reconstruction that is part of a network has to carry gradients, so the way back is written down here once more:

    X = FBP(q / shrunk) + grain,  grain = fade . (Y - FBP(p)) where p was projected from Y, and 0 where it was measured
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from acdnet.physics.fbp import Variant, fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.measurement import Measurement, attenuation
from acdnet.physics.projector import project
from acdnet.units import MU_CEILING, WATER_MU


@dataclass(frozen=True)
class Observed:
    """A slice as it was measured, and its LI correction."""

    Y: Tensor
    X_li: Tensor
    I: Tensor
    """1 where there is no metal."""
    S: Tensor
    S_li: Tensor
    trace: Tensor
    """1 where a ray meets metal."""
    path: Tensor
    """Path through metal of every ray."""
    grain: Tensor
    """What reconstructing a projected image loses; 0 where there were raw data."""
    geometry: FanBeam
    variant: Variant

    @property
    def shrunk(self) -> float:
        """By what line integrals in cm are multiplied."""
        return FanBeam.benchmark(self.geometry.size).pixel_cm / self.geometry.pixel_cm

    def reconstruct(self, sinogram: Tensor) -> Tensor:
        """Reconstruct a sinogram, in units of water."""
        return fbp(sinogram / self.shrunk, self.geometry, self.variant) / WATER_MU + self.grain

    def project(self, image: Tensor) -> Tensor:
        """Project an image in units of water."""
        return project(image * WATER_MU, self.geometry) * self.shrunk

    def to(self, device: torch.device | str) -> Observed:
        """Move all tensors to a device."""
        names = ("Y", "X_li", "I", "S", "S_li", "trace", "path", "grain")
        return replace(self, **{name: getattr(self, name).to(device) for name in names})


def water_units(hu: NDArray[np.float32]) -> Tensor:
    """Bring a slice in HU to units of water, nothing below air: 1 x 1 x H x W."""
    return attenuation(hu)[None, None] / WATER_MU


def to_hu(image: Tensor) -> NDArray[np.float32]:
    """Bring an image in units of water, 1 x 1 x H x W, back to HU."""
    hu: NDArray[np.float32] = (1000.0 * (image[0, 0].detach().cpu() - 1.0)).numpy()
    return hu


def _path(measurement: Measurement) -> Tensor:
    """Return the path of every ray through the metal, cm; of all rays of the trace, which widens projected metal."""
    path = measurement.path
    return torch.where(measurement.trace, path.clamp(min=measurement.geometry.pixel_cm / 10), path)


def observe(measurement: Measurement, li: NDArray[np.float32] | None = None) -> Observed:
    """Make a measured slice what networks are given; `li` is its LI correction in HU, if it is known already."""
    S_li = measurement.interpolated()
    metal = torch.from_numpy(measurement.metal).float()
    if li is None:
        li = measurement.reconstruct(S_li)
    observed = Observed(
        Y=water_units(measurement.image).clamp(max=MU_CEILING / WATER_MU),
        X_li=water_units(li),
        I=1.0 - metal[None, None],
        S=measurement.sinogram[None, None],
        S_li=S_li[None, None],
        trace=measurement.trace[None, None].float(),
        path=_path(measurement)[None, None],
        grain=torch.from_numpy(measurement.grain())[None, None] / 1000.0,
        geometry=measurement.geometry,
        variant=measurement.variant,
    )
    return replace(observed, **{name: getattr(observed, name) * observed.shrunk for name in ("S", "S_li", "path")})
