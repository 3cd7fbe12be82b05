"""What to simulate: the settings of a data set, and the pairs of one slice that follow from them."""

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
from acdnet.physics.implants.kinds import KINDS
from acdnet.physics.materials import METALS
from acdnet.physics.scanner import BenchmarkScanner, Simulation
from acdnet.physics.simulate import PROTOCOLS, checked_metal, checked_slice, make_scanner
from acdnet.units import Image, Mask

LAYOUTS = ("store", "benchmark")


@dataclass(frozen=True)
class Recipe:
    """Settings of a data set; together with the slices they decide every byte of it."""

    protocol: str = "syndeeplesion"
    seed: int = 0
    pairs: int = 4
    """Pairs made of every slice."""
    size: int = 416
    kinds: tuple[str, ...] = tuple(KINDS)
    """Implants by formula that are drawn from."""
    shapes: str = ""
    """File of shapes that are scaled, turned and placed as well."""
    masks: str = ""
    """File of masks that are used as they are, one after the other, instead of drawn implants."""
    material: str = ""
    """Metal of all implants; without it titanium in the benchmark's protocol, elsewhere what each is made of."""
    layout: str = "store"
    sinograms: bool = False
    """Keep sinograms in the store; methods that need raw data can then be evaluated on it."""

    found: float = 0.0
    """Share of the pairs whose metal is what `reduce` would find in the image, not where it was put."""
    tracefit: bool = False
    """Keep images after a trace fit as well, for networks that begin with them."""

    def __post_init__(self) -> None:
        if self.found and self.protocol != "clinical":
            raise ConfigError("metal is found in images of the clinical protocol; the benchmark's knows where it is")
        if self.protocol not in PROTOCOLS:
            raise ConfigError(f"no protocol {self.protocol!r}; there are {', '.join(PROTOCOLS)}")
        if self.layout not in LAYOUTS:
            raise ConfigError(f"no layout {self.layout!r}; there are {', '.join(LAYOUTS)}")
        if self.layout == "benchmark" and self.tracefit:
            raise ConfigError("the benchmark's layout has no place for images after a trace fit; use the store")
        if self.layout == "benchmark" and self.protocol != "syndeeplesion":
            raise ConfigError("the benchmark's layout holds its own protocol only; use the store for the clinical one")
        if self.material and self.material not in METALS:
            raise ConfigError(f"no metal {self.material!r}; there are {', '.join(METALS)}")
        if self.masks and (self.shapes or self.kinds != tuple(KINDS)):
            raise ConfigError("masks are used instead of implants and shapes; leave out one or the other")
        check_limits(self, {"pairs": (1, 1000), "size": (64, 2048), "seed": (0, 2**63 - 1), "found": (0.0, 1.0)})
        unknown = sorted(set(self.kinds) - KINDS.keys())
        if unknown:
            raise ConfigError(f"no implant {unknown[0]!r}; there are {', '.join(KINDS)}")

    @property
    def keeps_sinograms(self) -> bool:
        return self.sinograms or self.layout == "benchmark"

    def identity(self) -> dict[str, Any]:
        """Return the settings as they go into plan and manifest: files by hash, not by name."""
        known: dict[str, Any] = asdict(self) | {"kinds": list(self.kinds)}
        if not self.found:
            del known["found"]  # stores of earlier versions do not name it
        if not self.tracefit:
            del known["tracefit"]
        for name in ("shapes", "masks"):
            if known[name]:
                known[name] = "sha256:" + sha256(read_limited(Path(known[name]), LARGEST_FILE))
        return known

    def metal_shapes(self) -> tuple[Mask, ...]:
        """Read the shapes of the user."""
        return read_shapes(Path(self.shapes)) if self.shapes else ()

    def fixed_masks(self) -> list[Mask]:
        """Read the masks that are used as they are: mask k for pair k of every slice, at the size of the slices."""
        if not self.masks:
            return []
        from acdnet.data.benchmark import resize_mask

        found = read_shapes(Path(self.masks), cut=False)
        if len(found) < self.pairs:
            raise InputRefused(
                f"{self.masks}: has {len(found)} masks; {self.pairs} pairs a slice need as many (--pairs)"
            )
        made = []
        for k, mask in enumerate(found[: self.pairs]):
            if mask.shape[0] != mask.shape[1]:
                raise InputRefused(f"{self.masks}: mask {k} is {mask.shape}; masks are squares that cover the slice")
            try:
                made.append(checked_metal(resize_mask(mask, self.size)))
            except InputRefused as error:
                raise InputRefused(f"{self.masks}: mask {k} at {self.size} x {self.size} pixels: {error}") from error
        return made


@dataclass(frozen=True)
class MadeSlice:
    """All pairs of a slice, and what is said of them in the manifest."""

    raw: Slice
    pixel_mm: float
    pairs: list[Simulation]
    implants: list[Implant]
    without_metal: tuple[Any, Any] | None
    """Sinogram and reconstruction without metal, where sinograms of the benchmark's protocol are kept."""
    fitted: list[Image] = field(default_factory=list)
    """The pairs after a trace fit, where that is wanted."""


def make_slice(ref: SliceRef, recipe: Recipe, shapes: tuple[Mask, ...], masks: list[Mask]) -> MadeSlice:
    """Simulate the pairs of a slice; what is random depends on the seed, the slice's name and the pair's number."""
    try:
        raw = ref.read()
        hu, pixel_mm = squared(raw, recipe.size)
        hu = checked_slice(hu)
        scanner = make_scanner(recipe.protocol, hu, pixel_mm, _rng(recipe, ref, "scanner"))
        without = None
        if recipe.keeps_sinograms and isinstance(scanner, BenchmarkScanner):
            without = scanner.without_metal(_rng(recipe, ref, "without metal"))
        anatomy = None if masks else find_anatomy(hu, pixel_mm, ref.notes.get("site", ""))
        kinds = tuple(kind for kind in recipe.kinds if not ref.kinds or kind in ref.kinds)
        pairs, implants, fitted = [], [], []
        for k in range(recipe.pairs):
            rng = _rng(recipe, ref, f"pair {k}")
            if anatomy is None:
                implant = Implant(masks[k], f"mask {k}", recipe.material or "titanium")
            else:
                implant = draw_implant(anatomy, rng, kinds, shapes)
            metal = recipe.material or ("titanium" if recipe.protocol == "syndeeplesion" else implant.metal)
            pair = scanner.with_metal(implant.mask, metal, rng)
            if recipe.found and _rng(recipe, ref, f"found {k}").random() < recipe.found:
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


def _rng(recipe: Recipe, ref: SliceRef, purpose: str) -> np.random.Generator:
    return np.random.default_rng([recipe.seed, zlib.crc32(ref.name.encode()), zlib.crc32(purpose.encode())])
