r"""A slice with metal as every method receives it: the image, the metal, and the sinogram that belongs to them.

Without raw data the image Y itself is projected, p = P Y. Reconstructing a changed sinogram q would then blur the whole
slice and lose the kernel and the grain of the scanner. What projection and reconstruction lose is therefore added
again, fading out towards the metal, whose edge is part of it:

    X = FBP(q) + fade . (Y - FBP(p))

The projector needs square pixels on a square field. `acdnet.physics.resample` brings a slice there and back; a method
works on the square and returns through `Measurement.to_slice`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation, distance_transform_edt
from torch import Tensor

from acdnet.errors import InputRefused
from acdnet.physics.fbp import Variant, fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.projector import project
from acdnet.physics.resample import SquareGrid
from acdnet.physics.trace import interpolate
from acdnet.units import WATER_MU, hu_from_mu, mu_from_hu

TRACE_REACH = 1
"""Pixels by which metal is widened before its trace is taken from an image: a scanner's kernel blurs its edge."""

RING_WEIGHT = 1e-4
"""Weight of the ring by which metal was widened, so that one projection yields both the trace and the path."""

FADE = 6.0
"""Pixels from the metal at which all of the grain of the image is added again."""

NO_RAW_DATA = (
    "the data set has no sinograms; simulate it with --sinograms, or leave out methods that need them "
    "(--methods input,li needs none)"
)

CPU = torch.device("cpu")
Image = NDArray[np.float32]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Rays:
    """The rays of a slice: line integrals, the trace of the metal, and the path through metal in cm, views x bins."""

    sinogram: Tensor
    trace: Tensor
    path: Tensor


@dataclass(frozen=True)
class RawData:
    """What a scanner measured: line integrals and the trace, views x bins, and how it reconstructs."""

    sinogram: Tensor
    trace: Tensor
    geometry: FanBeam
    variant: Variant = "benchmark"


@dataclass(frozen=True)
class Measurement:
    """A slice in HU, its metal, and, once they are asked for, its rays.

    `raw` holds raw data where there are any. Without them the slice is projected when its rays are first needed.
    """

    slice_hu: Image
    """H x W, on the pixels of the scan. Under the metal it may hold any number."""
    slice_metal: Mask
    spacing_mm: tuple[float, float]
    """Distance of rows and of columns."""
    raw: RawData | None = None
    given: Mapping[str, Image] = field(default_factory=dict)
    """Corrected images that came with the slice, by the name of the method that made them."""
    device: torch.device = CPU
    scanner: FanBeam | None = None
    """The scanner in which the slice is projected; without it one around the image."""
    needs_raw: bool = False
    """Whether rays exist only where raw data do: projecting the image would not yield the sinogram of its protocol."""

    @classmethod
    def of_square(cls, hu: Image, metal: Mask, geometry: FanBeam) -> Self:
        """Return a square slice that is projected in the given geometry."""
        mm = 10 * geometry.pixel_cm
        return cls(hu, metal, (mm, mm), scanner=geometry)

    @cached_property
    def grid(self) -> SquareGrid:
        return SquareGrid((self.slice_hu.shape[0], self.slice_hu.shape[1]), self.spacing_mm)

    @cached_property
    def geometry(self) -> FanBeam:
        """The scanner of the rays: that of the raw data, or the one in which the image is projected."""
        return self.raw.geometry if self.raw else self.image_geometry

    @cached_property
    def image_geometry(self) -> FanBeam:
        """The scanner in which images of the square are projected."""
        return self.scanner or FanBeam.around(self.grid.size, self.grid.pixel_mm / 10)

    @property
    def variant(self) -> Variant:
        return self.raw.variant if self.raw else "textbook"

    @property
    def is_projected(self) -> bool:
        """Whether the rays are projected from the image rather than measured."""
        return self.raw is None

    @cached_property
    def image(self) -> Image:
        """The slice on the square, HU."""
        return self.grid.to_square(self.slice_hu)

    @cached_property
    def metal(self) -> Mask:
        """The metal on the square."""
        return self.grid.mask_to_square(self.slice_metal)

    @cached_property
    def rays(self) -> Rays:
        if self.raw is None and self.needs_raw:
            raise InputRefused(NO_RAW_DATA)
        if self.raw is None:
            (found,) = project_slices([self])
            return found
        on = self.raw.trace.to(self.device)
        path = project(torch.from_numpy(self.metal.astype(np.float32)).to(self.device), self.geometry)
        return Rays(self.raw.sinogram.to(self.device), on, path)

    @property
    def sinogram(self) -> Tensor:
        return self.rays.sinogram

    @property
    def trace(self) -> Tensor:
        return self.rays.trace

    @property
    def path(self) -> Tensor:
        """The path of each ray through metal in cm; next to nothing on rays that only graze it."""
        return self.rays.path

    def interpolated(self) -> Tensor:
        """Return the sinogram with its trace interpolated (LI)."""
        return interpolate(self.sinogram, self.trace)

    def project(self, hu: Image) -> Tensor:
        """Project another image of the square."""
        return project(attenuation(hu).to(self.device), self.geometry)

    def reconstruct(self, sinogram: Tensor) -> Image:
        """Reconstruct a changed sinogram as the slice itself was reconstructed; HU, on the square."""
        if not self.is_projected:
            return hounsfield(fbp(sinogram, self.geometry, self.variant))
        stack = torch.stack([sinogram, self.sinogram])
        changed, unchanged = hounsfield(fbp(stack, self.geometry, self.variant))
        return np.asarray(changed + self._fade * (self.image - unchanged))

    def grain(self) -> Image:
        """Return what projecting and reconstructing the image loses, fading out towards the metal; HU."""
        if not self.is_projected:
            return np.zeros_like(self.image)
        again = hounsfield(fbp(self.sinogram, self.geometry, self.variant))
        return np.asarray(self._fade * (self.image - again))

    def to_slice(self, square: Image) -> Image:
        """Bring an image of the square back to the pixels of the scan."""
        return self.grid.restore(square, self.slice_hu, self.image, self.slice_metal)

    @cached_property
    def _fade(self) -> Image:
        if not self.metal.any():
            return np.ones_like(self.image)
        away: NDArray[np.float64] = distance_transform_edt(~self.metal)
        return np.clip(away / FADE, 0.0, 1.0).astype(np.float32)


def project_slices(measurements: Sequence[Measurement]) -> list[Rays]:
    """Project slices of one geometry together, with their metal, widened, for the trace."""
    stack = []
    for one in measurements:
        wide = binary_dilation(one.metal, iterations=TRACE_REACH)
        weights = np.where(one.metal, np.float32(1.0), np.float32(RING_WEIGHT) * wide)
        stack += [attenuation(one.image), torch.from_numpy(weights)]
    lines = project(torch.stack(stack).to(measurements[0].device), measurements[0].geometry)
    return [Rays(sinogram, path > 0, path) for sinogram, path in zip(lines[0::2], lines[1::2], strict=True)]


def prepare(measurements: Sequence[Measurement]) -> None:
    """Project all slices that have to be, those of one geometry in one go."""
    waiting = [one for one in measurements if one.is_projected and not one.needs_raw and "rays" not in one.__dict__]
    for numbers in by_geometry(waiting).values():
        alike = [waiting[n] for n in numbers]
        for one, rays in zip(alike, project_slices(alike), strict=True):
            one.__dict__["rays"] = rays


def by_geometry(
    measurements: Sequence[Measurement], geometry: Callable[[Measurement], FanBeam] = lambda one: one.geometry
) -> dict[FanBeam, list[int]]:
    """Sort slices by their scanner; return the numbers of those of each."""
    groups: dict[FanBeam, list[int]] = {}
    for n, one in enumerate(measurements):
        groups.setdefault(geometry(one), []).append(n)
    return groups


def attenuation(hu: Image) -> Tensor:
    """Return an image in 1/cm, nothing below that of air."""
    return torch.from_numpy(np.maximum(mu_from_hu(hu), 0.0).astype(np.float32))


def hounsfield(mu: Tensor) -> Image:
    """Return an image in HU."""
    hu: Image = hu_from_mu(mu).cpu().numpy()
    return hu


def difference_hu(mu: Tensor) -> Image:
    """Return a difference of images in HU."""
    return np.asarray(mu.cpu().numpy() * (1000.0 / WATER_MU), np.float32)
