"""The embedded data, and the demonstration from end to end."""

from pathlib import Path

import numpy as np
import pytest

from acdnet.demo.phantom import SITES, make_phantom
from acdnet.demo.run import run_demo
from acdnet.demo.scan import scan


@pytest.mark.parametrize("site", SITES)
def test_phantoms_are_bodies_with_metal(site: str) -> None:
    for seed in range(5):
        phantom = make_phantom(site, np.random.default_rng(seed), 128)
        assert phantom.metal.any()
        assert phantom.hu[phantom.metal].min() > -500, "metal outside the body"
        assert (phantom.hu > 500).any()
        assert phantom.hu[0, 0] == pytest.approx(-1000)


def test_same_seed_same_scan() -> None:
    def once() -> np.ndarray:
        rng = np.random.default_rng(3)
        return scan(make_phantom("hip", rng, 64), rng).corrupted

    np.testing.assert_array_equal(once(), once())


def test_li_is_better_than_nothing_for_a_hip() -> None:
    rng = np.random.default_rng(3)
    s = scan(make_phantom("hip", rng, 96), rng)
    outside = ~s.metal
    assert np.abs(s.li - s.clean)[outside].mean() < np.abs(s.corrupted - s.clean)[outside].mean()
    assert (s.corrupted[s.metal] > 3000).all()


def test_the_shipped_model_beats_li_on_the_demonstrated_phantoms(tmp_path: Path) -> None:
    demo = run_demo(tmp_path / "out", "default")
    assert len(demo.rows) == len(SITES)
    for row in demo.rows:
        corrupted, li, acdnet = row.psnr
        assert acdnet > max(corrupted, li), row
        assert row.rmse[2] < row.rmse[1], row
    for picture in demo.pictures:
        assert picture.read_bytes().startswith(b"\x89PNG")
