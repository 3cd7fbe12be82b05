r"""The input of the dual-domain networks: a slice with metal in both domains, as tensors.

Images are in units of water (mu / 0.192 per cm), B x 1 x H x W. Sinograms are line integrals, B x 1 x views x bins,
scaled as if every slice were as wide as the benchmark's, 15.36 cm, so that they do not depend on the pixel size. The
reconstruction carries gradients:

    X = FBP(q / shrunk) + grain,  grain = fade . (Y - FBP(p)) if p was projected from Y, and 0 if it was measured
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from acdnet.physics.fbp import Variant, fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.measurement import Measurement, attenuation
from acdnet.physics.projector import project
from acdnet.units import MU_CEILING, WATER_MU, Image


@dataclass(frozen=True)
class Observed:
    """A measured slice and its LI correction."""

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
    """Detail lost by reconstructing a projected image; 0 with raw data."""
    geometry: FanBeam
    variant: Variant

    @property
    def shrunk(self) -> float:
        """Scale of the line integrals."""
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


def water_units(hu: Image) -> Tensor:
    """Convert a slice from HU to units of water, at least 0: 1 x 1 x H x W."""
    return attenuation(hu)[None, None] / WATER_MU


def to_hu(image: Tensor) -> Image:
    """Convert an image in units of water, 1 x 1 x H x W, to HU."""
    hu: Image = (1000.0 * (image[0, 0].detach().cpu() - 1.0)).numpy()
    return hu


def _path(measurement: Measurement) -> Tensor:
    """Return the path through metal in cm; rays of the trace that only graze the metal get a tenth of a pixel."""
    path = measurement.path
    return torch.where(measurement.trace, path.clamp(min=measurement.geometry.pixel_cm / 10), path)


def observe(measurement: Measurement, li: Image | None = None) -> Observed:
    """Return the input of the networks; `li` is the LI correction in HU, if known."""
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
