import os
from pathlib import Path

import pytest

from acdnet.errors import ResourceError
from acdnet.files import write_atomically


def test_writes_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    write_atomically(path, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ResourceError, match="No space left") as caught:
        write_atomically(path, b"new")
    assert caught.value.exit_code == 5
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="No such file"):
        write_atomically(tmp_path / "nowhere" / "a", b"")
