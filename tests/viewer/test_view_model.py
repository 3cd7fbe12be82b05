import numpy as np
import pytest

from acdnet.viewer.view_model import edges


@pytest.mark.parametrize(
    ("plane", "letters"),
    [
        ((1, 0, 0, 0, 1, 0), "ALPR"),  # lying on the back, seen from the feet
        ((-1, 0, 0, 0, -1, 0), "PRAL"),  # lying on the belly
        ((0, 1, 0, -1, 0, 0), "LPRA"),
        ((1, 0, 0, 0, 0, -1), "HLFR"),  # coronal
    ],
)
def test_edges_are_named_by_the_orientation(plane: tuple[int, ...], letters: str) -> None:
    top, right, bottom, left = edges(np.array(plane[:3]), np.array(plane[3:]))
    assert top + right + bottom + left == letters


def test_leaning_edges_have_two_letters() -> None:
    turn, tilt = np.radians([30, 10])
    down = np.array([-np.sin(turn), np.cos(turn), 0.0])
    assert edges(np.array([np.cos(turn), np.sin(turn), 0.0]), down) == ("AL", "LP", "PR", "RA")
    assert edges(np.array([1.0, 0, 0]), np.array([0, np.cos(tilt), -np.sin(tilt)])) == ("A", "L", "P", "R")
