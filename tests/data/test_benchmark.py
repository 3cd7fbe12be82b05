from pathlib import Path

import h5py
import numpy as np
import pytest

from acdnet.data.benchmark import clean_file, pair_file, read_list, read_pair, resize_mask
from acdnet.errors import InputRefused
from acdnet.physics.phantom import make_phantom
from acdnet.physics.simulate import simulate

PHANTOM = make_phantom("head", 0, 64)
METAL = np.zeros((64, 64), bool)
METAL[20:23, 30:34] = True
MADE = simulate(PHANTOM.hu, METAL)


@pytest.fixture
def gt(tmp_path: Path) -> Path:
    (tmp_path / "gt.h5").write_bytes(clean_file(MADE.clean, MADE.sinogram, MADE.corrupted))
    (tmp_path / "0.h5").write_bytes(pair_file(MADE))
    return tmp_path / "gt.h5"


def test_round_trip(gt: Path) -> None:
    pair = read_pair(gt, 0)
    for name in ("clean", "corrupted", "li"):
        assert np.allclose(getattr(pair, name), getattr(MADE, name), atol=0.01)
    assert np.array_equal(pair.sinogram, MADE.sinogram)
    assert np.array_equal(pair.trace, MADE.trace)
    assert np.array_equal(pair.metal, METAL)


def test_the_layout_is_the_published_one(gt: Path) -> None:
    with h5py.File(gt) as file:
        assert set(file) == {"image", "poly_CT", "poly_sinogram"}
        assert file["image"].dtype == np.float32
    with h5py.File(gt.parent / "0.h5") as file:
        assert {"ma_CT", "LI_CT", "ma_sinogram", "LI_sinogram", "metal_trace"} <= set(file)
        assert file["metal_trace"].dtype == np.uint8


def test_the_same_pair_gives_the_same_bytes() -> None:
    assert pair_file(MADE) == pair_file(simulate(PHANTOM.hu, METAL))


def test_published_files_need_their_masks(gt: Path) -> None:
    with h5py.File(gt.parent / "0.h5", "a") as file:
        del file["metal_mask"]
    with pytest.raises(InputRefused, match="array of masks"):
        read_pair(gt, 0)
    masks = np.zeros((80, 80, 1), np.uint8)
    masks[20:40, 20:40] = 1
    assert read_pair(gt, 0, masks).metal.sum() == 16 * 16
    (gt.parent / "1.h5").write_bytes((gt.parent / "0.h5").read_bytes())
    with pytest.raises(InputRefused, match="only 1 masks"):
        read_pair(gt, 1, masks)


def test_broken_files_are_refused(gt: Path) -> None:
    with pytest.raises(InputRefused, match="no such file"):
        read_pair(gt, 7)
    with h5py.File(gt.parent / "0.h5", "a") as file:
        file["ma_CT"][3, 3] = np.nan
    with pytest.raises(InputRefused, match="finite"):
        read_pair(gt, 0)
    with h5py.File(gt.parent / "0.h5", "a") as file:
        del file["LI_CT"]
    with pytest.raises(InputRefused, match="LI_CT"):
        read_pair(gt, 0)
    gt.write_bytes(b"nothing")
    with pytest.raises(InputRefused, match="HDF5"):
        read_pair(gt, 0)
    with pytest.raises(InputRefused, match="one per line"):
        read_list(gt.parent)


def test_masks_are_made_smaller_by_rounding() -> None:
    mask = np.zeros((512, 512), np.uint8)
    mask[100:200, 100:200] = 1
    assert resize_mask(mask, 416).sum() == pytest.approx((100 * 416 / 512) ** 2, rel=0.03)
