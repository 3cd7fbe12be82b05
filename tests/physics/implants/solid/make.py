"""Simple scenes: legs, a trunk, a head."""

import numpy as np
from numpy.typing import NDArray

from acdnet.physics.implants.solid.scene import Scene, find_scene
from acdnet.physics.phantom import make_phantom

MM, SIZE = 0.8, 160
HEIGHTS = tuple(3.0 * k for k in range(6))


def leg(slope: float = 0.0, size: int = SIZE, mm: float = MM) -> NDArray[np.float32]:
    """Paint a leg with a hollow bone that moves `slope` mm along x in each mm along z."""
    at = (np.arange(size) - (size - 1) / 2) * mm
    x, y = at[None], at[:, None]
    slices = []
    for z in HEIGHTS:
        hu = np.where(np.hypot(x, y) < 55, 50.0, -1000.0)
        away = np.hypot(x - 10 - slope * (z - np.mean(HEIGHTS)), y - 5)
        hu = np.where(away < 14, 1200.0, hu)
        slices.append(np.where(away < 8, 20.0, hu))
    return np.asarray(slices, np.float32)


def leg_scene(slope: float = 0.0, region: str = "thigh") -> Scene:
    return find_scene(leg(slope), HEIGHTS, 3.0, MM, region)


def phantom_scene(site: str, slices: int = 4) -> Scene:
    heights = tuple(3.0 * k for k in range(slices))
    made = [make_phantom(site, 1, 208, z) for z in heights]
    return find_scene(np.stack([one.hu for one in made]), heights, 3.0, made[0].pixel_mm, site)
