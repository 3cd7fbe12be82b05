import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from acdnet.errors import InputRefused
from acdnet.physics.implants.given import place, read_shapes


def test_given_shapes_are_scaled_turned_and_placed() -> None:
    bar = np.ones((4, 40), bool)
    placed = place(bar, (100, 100), (60.0, 30.0), 640.0, 1.4)
    assert placed.sum() == pytest.approx(640, rel=0.1)
    rows, columns = np.nonzero(placed)
    assert rows.mean() == pytest.approx(60, abs=1)
    assert columns.mean() == pytest.approx(30, abs=1)
    assert np.ptp(rows) > 3 * np.ptp(columns)


@pytest.fixture
def shape() -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    made = np.zeros((32, 32), bool)
    made[5:9, 10:20] = True
    return made


def test_shapes_are_read_from_files(tmp_path: Path, shape: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> None:
    np.save(tmp_path / "one.npy", shape)
    np.save(tmp_path / "stack.npy", np.stack([shape, ~shape, np.zeros_like(shape)]))
    np.save(tmp_path / "last.npy", np.stack([shape, shape], 2).astype(np.uint8))
    np.savez_compressed(tmp_path / "some.npz", a=shape, b=np.stack([shape, shape]))
    Image.fromarray(shape.astype(np.uint8) * 255).save(tmp_path / "one.png")
    counts = {"one.npy": 1, "stack.npy": 2, "last.npy": 2, "some.npz": 3, "one.png": 1}
    for name, count in counts.items():
        shapes = read_shapes(tmp_path / name)
        assert len(shapes) == count
        assert shapes[0].shape == (4, 10)
        assert shapes[0].all()
    assert read_shapes(tmp_path / "one.npy", cut=False)[0].shape == (32, 32)


def test_bad_shape_files_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "empty.npy", np.zeros((4, 4)))
    np.save(tmp_path / "nan.npy", np.full((4, 4), np.nan))
    np.save(tmp_path / "four.npy", np.zeros((2, 2, 2, 2)))
    np.save(tmp_path / "objects.npy", np.array([{"a": 1}], object), allow_pickle=True)
    (tmp_path / "text.png").write_text("hello")
    (tmp_path / "text.npz").write_text("hello")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "nan.npy").read_bytes()[:-9])
    (tmp_path / "mask.tif").write_text("")
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", bytes(2**28 + 1))
    for path in (*sorted(tmp_path.iterdir()), tmp_path / "missing.npy"):
        with pytest.raises(InputRefused):
            read_shapes(path)
