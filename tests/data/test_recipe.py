from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from acdnet.data.recipe import Recipe, make_slice
from acdnet.data.sources import open_source
from acdnet.data.store import Store
from acdnet.errors import ConfigError
from acdnet.methods.metal import find_metal, overlap
from acdnet.methods.registry import get_method
from acdnet.physics.geometry import FanBeam
from acdnet.physics.measurement import Measurement
from tests.data.make import small_store

SIZE = 128


def recipe(found: float) -> Recipe:
    return Recipe("clinical", pairs=2, size=SIZE, kinds=("hip-stem",), found=found)


def test_trace_fits_are_those_that_reduce_makes() -> None:
    ref = next(ref for ref in open_source("phantom", 6).slices if "hip-stem" in ref.kinds)
    made = make_slice(ref, Recipe("clinical", pairs=1, size=SIZE, tracefit=True), (), [])
    pair = made.pairs[0]
    measurement = Measurement.of_square(pair.corrupted, pair.metal, FanBeam.around(SIZE, made.pixel_mm / 10))
    reduced = get_method("tracefit", "cpu")(measurement).image_hu
    np.testing.assert_allclose(made.fitted[0], reduced, atol=0.1)  # the path is known there
    assert not make_slice(ref, Recipe("clinical", pairs=1, size=SIZE), (), []).fitted
    with pytest.raises(ConfigError, match="cannot store"):
        Recipe(layout="benchmark", tracefit=True)


def test_metal_as_it_would_be_found() -> None:
    ref = next(ref for ref in open_source("phantom", 6).slices if "hip-stem" in ref.kinds)
    known, found = (make_slice(ref, recipe(share), (), []) for share in (0.0, 1.0))
    changed = 0
    for before, after in zip(known.pairs, found.pairs, strict=True):
        assert np.array_equal(before.corrupted, after.corrupted)  # the scan is the same; who looks at it knows less
        seen = find_metal(before.corrupted, (found.pixel_mm, found.pixel_mm))
        if not seen.any():
            assert after.implant is None
            continue
        changed += 1
        assert np.array_equal(after.metal, seen)
        assert after.implant is not None
        assert np.array_equal(after.implant, before.metal)
        assert overlap(after.metal, before.metal) > 0.3
        assert not np.array_equal(before.li, after.li)
    assert changed


def test_undetected_metal_stays_in_the_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def every_second_column(hu: NDArray[np.float32], spacing_mm: tuple[float, float]) -> NDArray[np.bool_]:
        return np.asarray(find_metal(hu, spacing_mm) & (np.arange(hu.shape[1]) % 2 == 0))

    monkeypatch.setattr("acdnet.data.recipe.find_metal", every_second_column)
    known, found = (
        Store(small_store(tmp_path, 3, f"{share}", recipe=Recipe("clinical", pairs=1, size=96, found=share)))
        for share in (0.0, 1.0)
    )
    missed = 0
    for n in range(len(found.slices)):
        before, after = known.pair(n, 0), found.pair(n, 0)
        hidden = before.metal & ~after.metal
        missed += int(hidden.sum())
        assert np.array_equal(after.clean[hidden], after.corrupted[hidden])
        assert np.array_equal(after.clean[~hidden], before.clean[~hidden])
        assert found.slices[n]["pairs"][0]["metal_pixels"] == after.metal.sum()
        part = found.pair(n, 0, slice(20, 50), slice(30, 70))
        assert np.array_equal(part.clean, after.clean[20:50, 30:70])
    assert missed


def test_the_benchmark_refuses_detected_metal() -> None:
    with pytest.raises(ConfigError, match="clinical"):
        Recipe("syndeeplesion", found=0.5)
