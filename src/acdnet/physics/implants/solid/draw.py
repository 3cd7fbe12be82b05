"""Draw a random implant in three dimensions for neighbouring slices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import binary_dilation

from acdnet.errors import ConfigError, InputRefused
from acdnet.physics.implants.kinds import SOLIDS
from acdnet.physics.implants.solid import dental, joints, shafts, soft, spine
from acdnet.physics.implants.solid.cut import Shares, cut
from acdnet.physics.implants.solid.scene import NoRoom, Scene
from acdnet.physics.implants.solid.solids import Solid
from acdnet.units import Mask

Maker = Callable[[Scene, np.random.Generator], list[Solid]]
MAKERS: dict[str, Maker] = {
    maker.__name__.replace("_", "-"): maker
    for maker in (
        *(joints.hip_stem, joints.hip_cup, joints.resurfacing, joints.knee, joints.shoulder),
        *(shafts.nail, shafts.plate, shafts.cerclage, shafts.screws, shafts.k_wires),
        *(spine.spine_screws, spine.cage, spine.neck_plate),
        *(dental.fillings, dental.crowns, dental.dental_implants, dental.brackets),
        *(soft.cochlear, soft.aneurysm_clip, soft.mini_plates, soft.clips, soft.coil, soft.fiducials),
        *(soft.sternal_wires, soft.leads, soft.pacemaker, soft.port),
    )
}
"""The maker of every kind in `kinds.SOLIDS`."""
SHOWN = 0.25
"""Pixels with at least this share of metal look like metal and belong to the mask."""
LEAST_PIXELS = 12
"""Smallest implant in pixels of a 416 x 416 slice, in the slice with most of it."""
MOST_OF_BODY = 0.25
"""Largest share of the body that metal fills in a slice."""
TRIES = 12
"""Poses of a kind that are tried before the next one: many implants miss the slices at first."""
WEIGHTS = {
    **dict.fromkeys(("clips", "fiducials"), 0.25),
    **dict.fromkeys(("coil", "screws", "cerclage", "mini-plates"), 0.5),
    **dict.fromkeys(("hip-stem", "hip-cup", "resurfacing", "knee", "shoulder", "spine-screws"), 2.0),
    **dict.fromkeys(("fillings", "crowns", "dental-implants", "brackets"), 2.0),
}
"""How likely kinds are tried first, if not 1: small ones fit everywhere, large ones seldom, and streak most."""
SKIN_MM = 2.0
"""Metal may stand this far out of the body: crowns and brackets lie in the air of the mouth."""


@dataclass(frozen=True)
class Piece:
    """A piece of metal in neighbouring slices: the share of every pixel in the layers of every slice."""

    shares: Shares
    """n x layers x H x W."""
    kind: str
    metal: str

    @property
    def masks(self) -> Mask:
        """The metal as it appears, n x H x W."""
        return np.asarray(self.shares.mean(1) >= SHOWN)


def draw_piece(scene: Scene, rng: np.random.Generator, kinds: tuple[str, ...] = tuple(SOLIDS)) -> Piece:
    """Draw implants that occur at the sites of the slices until one fits."""
    unknown = sorted(set(kinds) - SOLIDS.keys())
    if unknown:
        raise ConfigError(f"no implant {unknown[0]!r}; choose from {', '.join(SOLIDS)}")
    fitting = [name for name in kinds if set(scene.sites) & set(SOLIDS[name].regions)]
    if not fitting:
        raise InputRefused(f"none of the implants {', '.join(kinds) or '(none)'} occurs in {', '.join(scene.sites)}")
    size = scene.hu.shape[1]
    least = LEAST_PIXELS * size**2 / 416**2
    around = np.stack(
        [binary_dilation(body, iterations=max(1, round(SKIN_MM / scene.pixel_mm))) for body in scene.body]
    )
    weights = np.array([WEIGHTS.get(name, 1.0) for name in fitting])
    order = rng.choice(fitting, len(fitting), replace=False, p=weights / weights.sum())
    for name in (str(name) for name in order for _ in range(TRIES)):
        try:
            parts = MAKERS[name](scene, rng)
        except NoRoom:
            continue
        shares = cut(parts, scene.heights, scene.thickness, scene.pixel_mm, size) * around[:, None]
        piece = Piece(shares, name, str(rng.choice(SOLIDS[name].metals)))
        areas = piece.masks.sum((1, 2))
        if areas.max() >= least and (areas <= MOST_OF_BODY * scene.body.sum((1, 2))).all():
            return piece
    raise InputRefused(f"no implant fits into the slices ({', '.join(scene.sites)})")
