import numpy as np

from acdnet.io.arrays import ArrayScan
from acdnet.methods.metal import Segmentation
from acdnet.reduction.scan_metal import adjacent_runs, find_scan_metal
from tests.reduction.make import body, volume


def test_a_scan_is_split_where_slices_are_missing() -> None:
    assert adjacent_runs([0.0, 3.0, 6.0, 15.0, 18.0]) == [(0, 3), (3, 5)]
    assert adjacent_runs([None, None]) == [(0, 1), (1, 2)]
    assert adjacent_runs([5.0]) == [(0, 1)]


def test_adjacent_slices_decide_doubtful_pixels() -> None:
    """A speck just below the threshold is metal where the next slice has metal, and not otherwise."""
    speck, metal = body(metal=False), body()
    speck[(slice_ := np.s_[48:51, 62:65])] = 2400.0
    assert (metal[slice_] > 2500).all()
    alone, adjacent = (
        find_scan_metal(ArrayScan(np.stack(hu), (3.0, 2.0, 2.0)), Segmentation("grown")).masks
        for hu in ([speck, body(metal=False)], [speck, metal])
    )
    assert not alone[0].any()
    assert adjacent[0][slice_].all()


def test_every_slice_is_visited_in_order() -> None:
    seen = []
    scan = ArrayScan(volume(), (2.0, 2.0))
    masks = find_scan_metal(scan, Segmentation("grown"), lambda n, _: seen.append(n)).masks
    assert seen == [0, 1, 2]
    assert [bool(mask.any()) for mask in masks] == [False, True, True]
