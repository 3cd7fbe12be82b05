"""The anatomy of neighbouring slices as implants in three dimensions need it: body, bones, marrow, teeth, spine.

Positions are in millimetres from the centre of the picture and of the stack: x to the right of the picture, y down
(to the back), z up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import (
    binary_closing,
    binary_fill_holes,
    binary_opening,
    distance_transform_edt,
    find_objects,
    gaussian_filter,
    label,
)

from acdnet.errors import InputRefused
from acdnet.physics.implants.anatomy import AIR_HU, BODY_HU, BONE_HU, LEAST_BODY, find_anatomy
from acdnet.physics.implants.solid.solids import Vector
from acdnet.units import Image, Mask

TRUNK = ("thorax", "abdomen", "pelvis")
WORDS = {
    "hip": "hip", "pelvis": "pelvis", "thigh": "thigh", "knee": "knee", "leg": "leg", "ankle": "leg", "foot": "leg",
    "forearm": "arm", "wrist": "arm", "hand": "arm", "elbow": "arm", "shoulder": "shoulder", "neck": "neck",
    "jaw": "jaw", "skull": "skull", "head": "head", "thorax": "thorax", "chest": "thorax", "lung": "thorax",
    "thoracic": "thorax", "lumbar": "abdomen", "abdomen": "abdomen", "liver": "abdomen",
}  # fmt: skip
"""The site that a word of a region names."""
LEAST_PART = 0.1
"""Parts of the body smaller than this share of the largest are left out."""
TOOTH_HU = 1400.0
SPONGY_HU = 120.0
"""Spongy bone, as in a vertebra, lies above; muscle below."""
SMALLEST_BONE_MM2 = 50.0
COMPACT = (0.5, 2.2)
"""A long bone fills half of its box, which is at most this much longer than wide."""
MOST_TILT = 1.0
"""Steepest slope of a long bone against the axis of the scan."""


class NoRoom(Exception):
    """The slices have no place for an implant."""


@dataclass(frozen=True)
class Bone:
    """A long bone: its line, and the radii of its outline and its marrow in mm."""

    point: Vector
    """On the middle slice, in the marrow."""
    axis: Vector
    """Upwards, of length 1."""
    outer: float
    inner: float

    def at(self, z: float) -> Vector:
        """Return the point of the axis at a height."""
        return np.asarray(self.point + self.axis * ((z - self.point[2]) / self.axis[2]))


@dataclass(frozen=True)
class Scene:
    """Square slices of one body, from below to above."""

    hu: NDArray[np.float32]
    """n x H x W."""
    heights: tuple[float, ...]
    """Of each slice in mm, around 0."""
    thickness: float
    pixel_mm: float
    sites: tuple[str, ...]

    @cached_property
    def body(self) -> Mask:
        """All large parts of the body, filled."""
        return np.stack([_body(image) for image in self.hu])

    @cached_property
    def bone(self) -> Mask:
        return np.asarray((self.hu > BONE_HU) & self.body)

    @property
    def middle(self) -> int:
        return len(self.hu) // 2

    @property
    def span(self) -> float:
        """Height of all slices together."""
        return self.heights[-1] - self.heights[0] + self.thickness

    @cached_property
    def box(self) -> tuple[float, float, float, float]:
        """Left, right, front and back of the part of the body nearest to the centre, on the middle slice, in mm."""
        parts, _ = label(self.body[self.middle])
        size = len(parts)
        depth = [parts[:, size // 2 - size // 8 : size // 2 + size // 8] == k for k in range(1, parts.max() + 1)]
        best = 1 + int(np.argmax([mask.sum() for mask in depth]))
        rows, columns = (np.nonzero((parts == best).any(axis))[0] for axis in (1, 0))
        edges = (columns[0], columns[-1], rows[0], rows[-1])
        left, right, top, bottom = ((edge - (size - 1) / 2) * self.pixel_mm for edge in edges)
        return left, right, top, bottom

    def band(self, across: tuple[float, float], down: tuple[float, float]) -> Mask:
        """Return a rectangle in fractions of `box`, H x W."""
        left, right, top, bottom = self.box
        size = self.hu.shape[1]
        at = (np.arange(size) - (size - 1) / 2) * self.pixel_mm
        x, y = (at[None] - left) / max(right - left, 1.0), (at[:, None] - top) / max(bottom - top, 1.0)
        mask: Mask = (x >= across[0]) & (x <= across[1]) & (y >= down[0]) & (y <= down[1])
        return mask

    def point(self, k: int, row: float, column: float) -> Vector:
        """Return the position of a pixel of slice k."""
        middle = (self.hu.shape[1] - 1) / 2
        return np.array([(column - middle) * self.pixel_mm, (row - middle) * self.pixel_mm, self.heights[k]])

    def pixel(self, point: Vector) -> tuple[int, int, int]:
        """Return slice, row and column of a position, inside the stack."""
        size = self.hu.shape[1]
        column, row = np.clip(np.round(point[:2] / self.pixel_mm + (size - 1) / 2), 0, size - 1).astype(int)
        return int(np.argmin(np.abs(np.array(self.heights) - point[2]))), int(row), int(column)

    def pick(self, where: Mask, rng: np.random.Generator, k: int | None = None) -> Vector:
        """Choose a pixel of slice k (by default any) where a mask of H x W or n x H x W is set."""
        k = int(rng.integers(len(self.hu))) if k is None else k
        pixels = np.flatnonzero(where if where.ndim == 2 else where[k])
        if len(pixels) == 0:
            raise NoRoom
        row, column = np.unravel_index(rng.choice(pixels), self.hu.shape[1:])
        return self.point(k, float(row), float(column))

    @cached_property
    def depth(self) -> NDArray[np.float64]:
        """Distance of every pixel of the middle slice to the skin in mm, 0 outside."""
        return np.asarray(distance_transform_edt(self.body[self.middle]) * self.pixel_mm)

    @cached_property
    def teeth(self) -> Mask:
        """Enamel in the front of a head, n x H x W."""
        front = self.band((0.1, 0.9), (0.0, 0.45))
        return np.stack([binary_opening((image > TOOTH_HU) & front) for image in self.hu])

    def solid_bone(self, where: Mask, mm: float, foremost: float = 1.0) -> tuple[Vector, float]:
        """Return the place in a band of the middle slice with most bone within some millimetres, and its share.

        Of all places with at least the share `foremost` of that, the one nearest to the front is returned.
        """
        dense = (self.hu[self.middle] > SPONGY_HU) & self.body[self.middle]
        share = gaussian_filter(dense.astype(np.float32), mm / self.pixel_mm)
        share = np.where(where, share, -1.0)
        best = int(np.argmax(share >= foremost * share.max()))
        row, column = np.unravel_index(best, share.shape)
        if not where.any() or share[row, column] < 0.3:
            raise NoRoom
        return self.point(self.middle, float(row), float(column)), float(share[row, column])

    @cached_property
    def long_bones(self) -> tuple[Bone, ...]:
        """The long bones, the thickest first."""
        k = self.middle
        filled, count = _filled(self.bone[k], self.pixel_mm)
        ends = [(_filled(self.bone[j], self.pixel_mm), j) for j in sorted({0, len(self.hu) - 1} - {k})]
        found = []
        for number, window in enumerate(find_objects(filled)[:count], 1):
            mask = filled[window] == number
            sides = sorted(mask.shape)
            if mask.sum() * self.pixel_mm**2 < SMALLEST_BONE_MM2 or mask.mean() < COMPACT[0]:
                continue
            if sides[1] > COMPACT[1] * sides[0]:
                continue
            row, column, outer, inner = self._marrow(mask, self.bone[k][window])
            point = self.point(k, row + window[0].start, column + window[1].start)
            far = [self._same(filled == number, shape[0], j) for shape, j in ends]
            line = [one for one in far if one is not None] + [point]
            if len(line) <= len(far):
                continue  # a kneecap or a vertebra: it ends within the slices
            axis = max(line, key=lambda p: p[2]) - min(line, key=lambda p: p[2])
            axis = axis / np.linalg.norm(axis) if axis[2] > 0 else np.array([0.0, 0.0, 1.0])
            if np.hypot(*axis[:2]) <= MOST_TILT * axis[2]:
                found.append(Bone(point, axis, outer, inner))
        return tuple(sorted(found, key=lambda bone: -bone.outer))

    def _marrow(self, filled: Mask, bone: Mask) -> tuple[float, float, float, float]:
        """Return the middle of a bone and its radii; the marrow's if it has any."""
        outside = distance_transform_edt(np.pad(filled, 1))[1:-1, 1:-1]
        marrow = distance_transform_edt(np.pad(filled & ~bone, 1))[1:-1, 1:-1]
        outer = float(outside.max()) * self.pixel_mm
        inner = float(marrow.max()) * self.pixel_mm
        hollow = inner > 0.25 * outer
        row, column = np.unravel_index(int(np.argmax(marrow if hollow else outside)), filled.shape)
        return float(row), float(column), outer, inner if hollow else 0.55 * outer

    def _same(self, mask: Mask, parts: NDArray[np.int32], j: int) -> Vector | None:
        """Return the middle of the same bone in slice j: the part that overlaps most, if it is of similar size."""
        shared = np.bincount(parts[mask], minlength=1)
        shared[0] = 0
        if not shared.any():
            return None
        other = parts == int(np.argmax(shared))
        if not 0.4 < other.sum() / mask.sum() < 2.5:
            return None
        window = find_objects(other.astype(np.int32))[0]
        row, column, *_ = self._marrow(other[window], self.bone[j][window])
        return self.point(j, row + window[0].start, column + window[1].start)


def _body(image: Image) -> Mask:
    parts, count = label(binary_opening(image > BODY_HU, iterations=2))
    sizes = np.bincount(parts.ravel(), minlength=count + 1)
    sizes[0] = 0
    if sizes.max() < LEAST_BODY * image.size:
        raise InputRefused("no body found in the slice: nothing large is denser than air. Are the values in HU?")
    return np.asarray(binary_fill_holes((sizes > LEAST_PART * sizes.max())[parts]))


def _filled(bone: Mask, pixel_mm: float) -> tuple[NDArray[np.int32], int]:
    """Label the bones with their marrow."""
    closed = binary_closing(np.pad(bone, 4), iterations=max(1, round(1.0 / pixel_mm)))[4:-4, 4:-4]
    parts, count = label(binary_fill_holes(closed))
    return parts, count


def find_scene(
    hu: NDArray[np.float32], heights: tuple[float, ...], thickness: float, pixel_mm: float, region: str
) -> Scene:
    """Find the anatomy of slices; the region is a free text, and is guessed from the middle slice if it is empty."""
    middle = hu[len(hu) // 2]
    if np.percentile(middle, 0.5) > AIR_HU:
        raise InputRefused(f"there is no air in the slice (lowest value {middle.min():g}). Are the values in HU?")
    sites = find_sites(region, middle, pixel_mm)
    centred = tuple(float(z) for z in np.asarray(heights) - np.mean(heights))
    return Scene(hu, centred, thickness, pixel_mm, sites)


def find_sites(region: str, middle: Image, pixel_mm: float) -> tuple[str, ...]:
    """Return the sites that a region names; those of the slice itself if it names several parts of the trunk."""
    words = "".join(letter if letter.isalpha() else " " for letter in region.lower()).split()
    named = tuple(dict.fromkeys(WORDS[word] for word in words if word in WORDS))
    wide = sum(site in TRUNK for site in named) + 2 * ("head" in named and len(named) > 1)
    if named and wide < 2:
        return named
    guess = find_anatomy(middle, pixel_mm).region
    return named if named and guess == "head" and "head" not in named else (guess,)
