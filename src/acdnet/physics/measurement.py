r"""A slice with metal as every method receives it: image, metal mask and sinogram.

Without raw data the image Y itself is projected, p = P Y. Reconstructing a changed sinogram q would blur the whole
slice and lose the kernel and the noise texture of the scanner. The detail that projection and reconstruction lose is
therefore added again, fading out towards the metal:

    X = FBP(q) + fade . (Y - FBP(p))

Methods work on the square field of square pixels that the projector needs (`acdnet.physics.resample`) and convert the
result by `Measurement.to_slice`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
import torch
from scipy.ndimage import binary_dilation, distance_transform_edt
from torch import Tensor

from acdnet.errors import InputRefused
from acdnet.physics.fbp import Variant, fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.projector import project
from acdnet.physics.resample import SquareGrid
from acdnet.physics.trace import interpolate
from acdnet.units import WATER_MU, Image, Mask, hu_from_mu, mu_from_hu

TRACE_REACH = 1
"""Pixels by which metal is dilated for the trace of an image: the scanner's kernel blurs its edge."""

RING_WEIGHT = 1e-4
"""Weight of the dilated ring, so that one projection yields both the trace and the path."""

FADE = 6.0
"""Distance from the metal in pixels beyond which the lost detail is added in full."""

NO_RAW_DATA = (
    "the data set has no sinograms; simulate it with --sinograms, or evaluate methods that need none "
    "(--methods input,li)"
)

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Rays:
    """The rays of a slice: line integrals, the trace of the metal, and the path through metal in cm, views x bins."""

    sinogram: Tensor
    trace: Tensor
    path: Tensor


@dataclass(frozen=True)
class RawData:
    """Measured line integrals and trace, views x bins, with the geometry and the kernel of the scanner."""

    sinogram: Tensor
    trace: Tensor
    geometry: FanBeam
    variant: Variant = "benchmark"


@dataclass(frozen=True)
class Measurement:
    """A slice in HU, its metal, and its rays.

    Without raw data the slice is projected when its rays are first needed.
    """

    slice_hu: Image
    """H x W, on the pixels of the scan; values in the metal are ignored."""
    slice_metal: Mask
    spacing_mm: tuple[float, float]
    """Row and column spacing."""
    raw: RawData | None = None
    given: Mapping[str, Image] = field(default_factory=dict)
    """Precomputed corrected images by the name of their method."""
    device: torch.device = CPU
    scanner: FanBeam | None = None
    """The geometry in which the slice is projected; by default one around the image."""
    needs_raw: bool = False
    """Refuse to project the image, because this would not yield the sinogram of its protocol."""

    @classmethod
    def of_square(cls, hu: Image, metal: Mask, geometry: FanBeam) -> Self:
        """Return a square slice to be projected in the given geometry."""
        mm = 10 * geometry.pixel_cm
        return cls(hu, metal, (mm, mm), scanner=geometry)

    @cached_property
    def grid(self) -> SquareGrid:
        return SquareGrid((self.slice_hu.shape[0], self.slice_hu.shape[1]), self.spacing_mm)

    @cached_property
    def geometry(self) -> FanBeam:
        """The geometry of the rays: that of the raw data, or `image_geometry`."""
        return self.raw.geometry if self.raw else self.image_geometry

    @cached_property
    def image_geometry(self) -> FanBeam:
        """The geometry in which images of the square are projected."""
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
        """The path of each ray through metal in cm; almost 0 for rays that only graze it."""
        return self.rays.path

    def interpolated(self) -> Tensor:
        """Return the sinogram with its trace interpolated (LI)."""
        return interpolate(self.sinogram, self.trace)

    def project(self, hu: Image) -> Tensor:
        """Project an image of the square in HU."""
        return project(attenuation(hu).to(self.device), self.geometry)

    def reconstruct(self, sinogram: Tensor) -> Image:
        """Reconstruct a changed sinogram with the kernel of the slice; HU, on the square."""
        if not self.is_projected:
            return hounsfield(fbp(sinogram, self.geometry, self.variant))
        stack = torch.stack([sinogram, self.sinogram])
        changed, unchanged = hounsfield(fbp(stack, self.geometry, self.variant))
        return np.asarray(changed + self._fade * (self.image - unchanged))

    def grain(self) -> Image:
        """Return the detail lost by projection and reconstruction, fading out towards the metal; HU."""
        if not self.is_projected:
            return np.zeros_like(self.image)
        again = hounsfield(fbp(self.sinogram, self.geometry, self.variant))
        return np.asarray(self._fade * (self.image - again))

    def to_slice(self, square: Image) -> Image:
        """Resample an image of the square to the pixels of the scan."""
        return self.grid.restore(square, self.slice_hu, self.image, self.slice_metal)

    @cached_property
    def _fade(self) -> Image:
        if not self.metal.any():
            return np.ones_like(self.image)
        return np.asarray(np.clip(distance_transform_edt(~self.metal) / FADE, 0.0, 1.0), np.float32)


def project_slices(measurements: Sequence[Measurement]) -> list[Rays]:
    """Project slices of one geometry together, with their dilated metal for the trace."""
    stack = []
    for one in measurements:
        wide = binary_dilation(one.metal, iterations=TRACE_REACH)
        weights = np.where(one.metal, np.float32(1.0), np.float32(RING_WEIGHT) * wide)
        stack += [attenuation(one.image), torch.from_numpy(weights)]
    lines = project(torch.stack(stack).to(measurements[0].device), measurements[0].geometry)
    return [Rays(sinogram, path > 0, path) for sinogram, path in zip(lines[0::2], lines[1::2], strict=True)]


def prepare(measurements: Sequence[Measurement]) -> None:
    """Project all slices without rays, those of one geometry together."""
    waiting = [one for one in measurements if one.is_projected and not one.needs_raw and "rays" not in one.__dict__]
    for numbers in by_geometry(waiting).values():
        alike = [waiting[n] for n in numbers]
        for one, rays in zip(alike, project_slices(alike), strict=True):
            one.__dict__["rays"] = rays


def by_geometry(
    measurements: Sequence[Measurement], geometry: Callable[[Measurement], FanBeam] = lambda one: one.geometry
) -> dict[FanBeam, list[int]]:
    """Group the indices of slices by geometry."""
    groups: dict[FanBeam, list[int]] = {}
    for n, one in enumerate(measurements):
        groups.setdefault(geometry(one), []).append(n)
    return groups


def attenuation(hu: Image) -> Tensor:
    """Convert HU to 1/cm, at least 0."""
    return torch.from_numpy(np.maximum(mu_from_hu(hu), 0.0).astype(np.float32))


def hounsfield(mu: Tensor) -> Image:
    """Convert 1/cm to HU."""
    hu: Image = hu_from_mu(mu).cpu().numpy()
    return hu


def difference_hu(mu: Tensor) -> Image:
    """Convert a difference of images from 1/cm to HU."""
    return np.asarray(mu.cpu().numpy() * (1000.0 / WATER_MU), np.float32)
