"""A slice with metal as every method receives it: the image, the metal, and the sinogram that belongs to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation
from torch import Tensor

from acdnet.physics.fbp import Variant, fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.projector import project
from acdnet.physics.trace import interpolate
from acdnet.units import hu_from_mu, mu_from_hu

TRACE_REACH = 1
"""Pixels by which metal is widened before its trace is taken from an image: a scanner's kernel blurs its edge."""


@dataclass(frozen=True)
class Measured:
    """An image in HU, its metal, its line integrals and the trace of the metal in them."""

    image: NDArray[np.float32]
    metal: NDArray[np.bool_]
    sinogram: Tensor
    trace: Tensor
    geometry: FanBeam
    variant: Variant

    @classmethod
    def from_image(cls, hu: NDArray[np.float32], metal: NDArray[np.bool_], geometry: FanBeam) -> Measured:
        """Measure an image that has no sinogram: project it, and the metal, widened, for the trace."""
        wide = binary_dilation(metal, iterations=TRACE_REACH)
        pair = torch.stack([attenuation(hu), torch.from_numpy(wide).float()])
        sinogram, path = project(pair, geometry)
        return cls(hu, metal, sinogram, path > 0, geometry, "textbook")

    def reconstruct(self, sinograms: Tensor) -> NDArray[np.float32]:
        """Reconstruct changed sinograms as the slice itself was reconstructed; HU."""
        return hounsfield(fbp(sinograms, self.geometry, self.variant))

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
