from collections.abc import Callable

import numpy as np
import pytest

from acdnet.physics.implants.solid import solids
from acdnet.physics.implants.solid.solids import Solid


def volume(solid: Solid, step: float = 0.25) -> float:
    """Return the volume in mm^3, counted in the box of the solid and one step around it."""
    counts = np.ceil((solid.high - solid.low) / step).astype(int) + 2
    starts = zip(counts, solid.low, strict=True)
    axes = [((np.arange(count) - 0.6) * step + low).astype(np.float32) for count, low in starts]
    x, y, z = np.meshgrid(*axes, indexing="ij", sparse=True)
    inside = solid.inside(x, y, z)
    inside = np.broadcast_to(inside, [len(axis) for axis in axes])
    return float(inside.sum()) * step**3


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: solids.sphere(6), 4 / 3 * np.pi * 6**3),
        (lambda: solids.cylinder(4, 10, 2), np.pi * (16 - 4) * 10),
        (lambda: solids.rod(3, 12), np.pi * 9 * 12 + 4 / 3 * np.pi * 27),
        (lambda: solids.box(6, 8, 10), 480.0),
        (lambda: solids.shell(8, 6, 0), 2 / 3 * np.pi * (8**3 - 6**3)),
        (lambda: solids.ring(8, 2), 2 * np.pi**2 * 8 * 4),
        (lambda: solids.ellipsoid(3, 5, 7), 4 / 3 * np.pi * 3 * 5 * 7),
        (lambda: solids.cylinder(5, 10).without(solids.cylinder(3, 10)), np.pi * (25 - 9) * 10),
        (lambda: solids.sphere(6).within(solids.box(20, 20, 20).at((0, 0, 10))), 2 / 3 * np.pi * 6**3),
        (lambda: solids.cylinder(4, 20).bent(100), np.pi * 16 * 20),
    ],
)
def test_volumes(make: Callable[[], Solid], expected: float) -> None:
    assert volume(make()) == pytest.approx(expected, rel=0.04)


def test_a_solid_keeps_its_volume_and_stays_in_its_box_when_it_is_placed() -> None:
    screw = solids.screw(14, 2, 3, 1.5, 4)
    placed = screw.at((5, -3, 2), (1, 2, -0.5), 0.7)
    assert volume(placed) == pytest.approx(volume(screw), rel=0.03)
    assert volume(Solid(placed.inside, placed.low - 3, placed.high + 3)) == pytest.approx(volume(placed), rel=1e-6)


def test_a_bar_reaches_from_point_to_point() -> None:
    bar = solids.between((1, 2, 3), (10, -4, 8), 0.5)
    x, y, z = np.array([(1, 2, 3), (10, -4, 8), (5.5, -1, 5.5), (1, 2, 8)], np.float32).T
    assert bar.inside(x, y, z).tolist() == [True, True, True, False]
