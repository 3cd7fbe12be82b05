r"""A slice with metal as every method receives it: the image, the metal, and the sinogram that belongs to them.

Where there are no raw data the image Y itself is projected, p = P Y. Reconstructing a changed sinogram q would then
blur the whole slice, and lose the kernel and the grain of the scanner. What projecting and reconstructing lose is
therefore given back, fading out towards the metal, whose edge is part of it:

    X = FBP(q) + fade . (Y - FBP(p))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation, distance_transform_edt
from torch import Tensor

from acdnet.physics.fbp import Variant, fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.projector import project
from acdnet.physics.trace import interpolate
from acdnet.units import hu_from_mu, mu_from_hu

TRACE_REACH = 1
"""Pixels by which metal is widened before its trace is taken from an image: a scanner's kernel blurs its edge."""

RING_WEIGHT = 1e-4
"""Weight of the ring by which metal was widened, where one projection shall tell both the trace and the path."""

FADE = 6.0
"""Pixels from the metal at which all of the grain of the image is given back."""


@dataclass(frozen=True)
class Measured:
    """An image in HU, its metal, its line integrals and the trace of the metal in them."""

    image: NDArray[np.float32]
    metal: NDArray[np.bool_]
    sinogram: Tensor
    trace: Tensor
    geometry: FanBeam
    variant: Variant
    projected: bool = False
    """The sinogram was projected from the image."""
    known_path: Tensor | None = None
    """The path of each ray through metal in cm, if it was found with the trace."""

    @classmethod
    def from_image(cls, hu: NDArray[np.float32], metal: NDArray[np.bool_], geometry: FanBeam) -> Measured:
        """Measure an image that has no sinogram: project it, and the metal, widened, for the trace."""
        wide = binary_dilation(metal, iterations=TRACE_REACH)
        weights = np.where(metal, np.float32(1.0), np.float32(RING_WEIGHT) * wide)
        sinogram, path = project(torch.stack([attenuation(hu), torch.from_numpy(weights)]), geometry)
        return cls(hu, metal, sinogram, path > 0, geometry, "textbook", projected=True, known_path=path)

    def reconstruct(self, sinogram: Tensor) -> NDArray[np.float32]:
        """Reconstruct a changed sinogram as the slice itself was reconstructed; HU."""
        if not self.projected:
            return hounsfield(fbp(sinogram, self.geometry, self.variant))
        changed, unchanged = hounsfield(fbp(torch.stack([sinogram, self.sinogram]), self.geometry, self.variant))
        return np.asarray(changed + self._fade() * (self.image - unchanged))

    def grain(self) -> NDArray[np.float32]:
        """Return what projecting and reconstructing the image loses, fading out towards the metal; HU."""
        return np.asarray(self._fade() * (self.image - hounsfield(fbp(self.sinogram, self.geometry, self.variant))))

    def _fade(self) -> NDArray[np.float32]:
        if not self.metal.any():
            return np.ones_like(self.image)
        away: NDArray[np.float64] = distance_transform_edt(~self.metal)
        return np.clip(away / FADE, 0.0, 1.0).astype(np.float32)

    def path(self) -> Tensor:
        """Return the path of each ray through metal in cm; next to nothing on rays that only graze it."""
        if self.known_path is not None:
            return self.known_path
        return project(torch.from_numpy(self.metal.astype(np.float32)), self.geometry)

    def interpolated(self) -> Tensor:
        """Return the sinogram with its trace interpolated (LI)."""
        return interpolate(self.sinogram, self.trace)


def attenuation(hu: NDArray[np.float32]) -> Tensor:
    """Return an image in 1/cm, nothing below that of air."""
    return torch.from_numpy(np.maximum(mu_from_hu(hu), 0.0).astype(np.float32))


def hounsfield(mu: Tensor) -> NDArray[np.float32]:
    """Return an image in HU."""
    hu: NDArray[np.float32] = hu_from_mu(mu).numpy()
    return hu
