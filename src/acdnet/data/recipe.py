"""The settings of a data set, and the simulation of the pairs of a slice."""

from __future__ import annotations

import zlib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from acdnet.data.slices import SliceRef, squared
from acdnet.errors import ConfigError, InputRefused, check_limits
from acdnet.files import read_limited, sha256
from acdnet.io.slices import Slice
from acdnet.methods.metal import find_metal
from acdnet.methods.trace_fit import trace_fit
from acdnet.physics.implants.anatomy import find_anatomy
from acdnet.physics.implants.draw import Implant, draw_implant
from acdnet.physics.implants.given import LARGEST_FILE, read_shapes
from acdnet.physics.implants.kinds import KINDS, SOLIDS
from acdnet.physics.materials import METALS
from acdnet.physics.scanner import BenchmarkScanner, Simulation
from acdnet.physics.simulate import PROTOCOLS, checked_metal, checked_slice, make_scanner
from acdnet.units import Image, Mask

LAYOUTS = ("store", "benchmark")
MOST_SLICES = 64
"""Slices of a slab; memory grows with them."""
PROJECTED_VIEWS = 640
"""Views in which images are projected unless the recipe says otherwise."""


@dataclass(frozen=True)
class Recipe:
    """Settings of a data set; with the slices they determine every byte of it."""

    protocol: str = "syndeeplesion"
    seed: int = 0
    pairs: int = 4
    """Pairs per slice."""
    size: int = 416
    kinds: tuple[str, ...] = tuple(KINDS)
    """Kinds of implants to draw from; all of `KINDS` stands for all of `SOLIDS` in slabs."""
    shapes: str = ""
    """File of additional shapes, scaled and placed at random."""
    masks: str = ""
    """File of masks that replace random implants: mask k in pair k."""
    material: str = ""
    """Metal of all implants; by default titanium in the benchmark's protocol, else that of each kind."""
    layout: str = "store"
    sinograms: bool = False
    """Store sinograms, for methods that need raw data."""
    found: float = 0.0
    """Share of the pairs with the metal detected by `reduce` instead of the true metal."""
    tracefit: bool = False
    """Store trace-fit images, for networks that start from them."""
    slab: int = 0
    """Neighbouring slices with one implant in three dimensions; 0 for implants in single slices."""
    views: int = PROJECTED_VIEWS
    """Views in which images are projected (clinical protocol)."""

    def __post_init__(self) -> None:
        if self.slab and self.protocol != "clinical":
            raise ConfigError("slabs need the clinical protocol; the benchmark has single slices")
        if self.slab and (self.shapes or self.masks or self.sinograms):
            raise ConfigError("slabs use implants in three dimensions, without shapes, masks or sinograms")
        if self.views != PROJECTED_VIEWS and self.protocol != "clinical":
            raise ConfigError("the benchmark's protocol has 640 views; omit views")
        if self.found and self.protocol != "clinical":
            raise ConfigError("detected metal needs the clinical protocol; the benchmark uses the true metal")
        if self.protocol not in PROTOCOLS:
            raise ConfigError(f"protocol is {self.protocol!r}; choose one of {', '.join(PROTOCOLS)}")
        if self.layout not in LAYOUTS:
            raise ConfigError(f"layout is {self.layout!r}; choose one of {', '.join(LAYOUTS)}")
        if self.layout == "benchmark" and self.tracefit:
            raise ConfigError("the benchmark's layout cannot store trace-fit images; use the store layout")
        if self.layout == "benchmark" and self.protocol != "syndeeplesion":
            raise ConfigError("the benchmark's layout needs protocol syndeeplesion; use the store layout")
        if self.material and self.material not in METALS:
            raise ConfigError(f"no metal {self.material!r}; choose one of {', '.join(METALS)}")
        if self.masks and (self.shapes or self.kinds != tuple(KINDS)):
            raise ConfigError("masks replace implants and shapes; give one or the other")
        check_limits(self, {"pairs": (1, 1000), "size": (64, 2048), "seed": (0, 2**63 - 1), "found": (0.0, 1.0)})
        check_limits(self, {"slab": (0, MOST_SLICES), "views": (64, 4096)})
        if self.slab and self.kinds == tuple(KINDS):
            object.__setattr__(self, "kinds", tuple(SOLIDS))
        known = SOLIDS if self.slab else KINDS
        unknown = sorted(set(self.kinds) - known.keys())
        if unknown:
            raise ConfigError(f"no implant {unknown[0]!r}; choose from {', '.join(known)}")

    @property
    def keeps_sinograms(self) -> bool:
        return self.sinograms or self.layout == "benchmark"

    def identity(self) -> dict[str, Any]:
        """Return the settings for plan and manifest, with files by hash."""
        known: dict[str, Any] = asdict(self) | {"kinds": list(self.kinds)}
        if not self.found:
            del known["found"]
        if not self.tracefit:
            del known["tracefit"]
        if not self.slab:
            del known["slab"]
        if self.views == PROJECTED_VIEWS:
            del known["views"]
        for name in ("shapes", "masks"):
            if known[name]:
                known[name] = "sha256:" + sha256(read_limited(Path(known[name]), LARGEST_FILE))
        return known

    def metal_shapes(self) -> tuple[Mask, ...]:
        """Read the shapes of the user."""
        return read_shapes(Path(self.shapes)) if self.shapes else ()

    def fixed_masks(self) -> list[Mask]:
        """Read the masks and resize them to the slices: mask k is used in pair k of every slice."""
        if not self.masks:
            return []
        from acdnet.data.benchmark import resize_mask

        found = read_shapes(Path(self.masks), cut=False)
        if len(found) < self.pairs:
            raise InputRefused(
                f"{self.masks}: has {len(found)} masks, but {self.pairs} pairs per slice need as many; reduce --pairs"
            )
        made = []
        for k, mask in enumerate(found[: self.pairs]):
            if mask.shape[0] != mask.shape[1]:
                raise InputRefused(f"{self.masks}: mask {k} is {mask.shape}; masks must be squares of the whole slice")
            try:
                made.append(checked_metal(resize_mask(mask, self.size)))
            except InputRefused as error:
                raise InputRefused(f"{self.masks}: mask {k} at {self.size} x {self.size} pixels: {error}") from error
        return made


@dataclass(frozen=True)
class MadeSlice:
    """All pairs of a slice, and their description for the manifest."""

    raw: Slice
    pixel_mm: float
    pairs: list[Simulation]
    implants: list[Implant]
    without_metal: tuple[Any, Any] | None
    """Sinogram and reconstruction without metal, if sinograms of the benchmark's protocol are stored."""
    fitted: list[Image] = field(default_factory=list)
    """The trace-fit images, if stored."""


def make_slice(ref: SliceRef, recipe: Recipe, shapes: tuple[Mask, ...], masks: list[Mask]) -> MadeSlice:
    """Simulate the pairs of a slice; random numbers depend on the seed, the name of the slice and the pair."""
    try:
        raw = ref.read()
        hu, pixel_mm = squared(raw, recipe.size)
        hu = checked_slice(hu)
        scanner = make_scanner(recipe.protocol, hu, pixel_mm, random_of(recipe, ref, "scanner"), recipe.views)
        without = None
        if recipe.keeps_sinograms and isinstance(scanner, BenchmarkScanner):
            without = scanner.without_metal(random_of(recipe, ref, "without metal"))
        anatomy = None if masks else find_anatomy(hu, pixel_mm, ref.notes.get("site", ""))
        kinds = tuple(kind for kind in recipe.kinds if not ref.kinds or kind in ref.kinds)
        pairs, implants, fitted = [], [], []
        for k in range(recipe.pairs):
            rng = random_of(recipe, ref, f"pair {k}")
            if anatomy is None:
                implant = Implant(masks[k], f"mask {k}", recipe.material or "titanium")
            else:
                implant = draw_implant(anatomy, rng, kinds, shapes)
            metal = recipe.material or ("titanium" if recipe.protocol == "syndeeplesion" else implant.metal)
            pair = scanner.with_metal(implant.mask, metal, rng)
            if recipe.found and random_of(recipe, ref, f"found {k}").random() < recipe.found:
                seen = find_metal(pair.corrupted, (pixel_mm, pixel_mm))
                pair = pair.with_found_metal(seen) if seen.any() else pair
            if recipe.tracefit:
                fitted.append(trace_fit(pair.measurement()))
            pairs.append(pair if recipe.keeps_sinograms else pair.without_sinograms())
            implants.append(implant)
    except (InputRefused, ConfigError) as error:
        place = f" ({ref.place})" if ref.place and ref.place not in str(error) else ""
        raise InputRefused(f"slice {ref.name}{place}: {error}") from error
    return MadeSlice(raw, pixel_mm, pairs, implants, without, fitted)


def random_of(recipe: Recipe, ref: SliceRef, purpose: str) -> np.random.Generator:
    """Return the random numbers of a slice for some purpose."""
    return np.random.default_rng([recipe.seed, zlib.crc32(ref.name.encode()), zlib.crc32(purpose.encode())])
