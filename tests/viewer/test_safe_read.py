import zipfile
from pathlib import Path

import numpy as np
import pytest

from acdnet.errors import InputRefused
from acdnet.viewer.safe_read import load_arrays


def test_arrays_that_unpack_to_too_much(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", metal=np.zeros(2**20, np.uint8))
    assert load_arrays(tmp_path / "a.npz", 2**21)["metal"].size == 2**20
    with pytest.raises(InputRefused, match="unpacks to more than"):
        load_arrays(tmp_path / "a.npz", 2**19)
    with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive:
        archive.writestr("metal.npy", b"no array")
    (tmp_path / "c.npz").write_bytes(b"no archive")
    for name in ("b", "c", "d"):
        with pytest.raises(InputRefused, match="cannot be read"):
            load_arrays(tmp_path / f"{name}.npz", 2**20)["metal"].any()
