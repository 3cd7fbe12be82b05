import os
from pathlib import Path

import pytest

from acdnet.errors import InputRefused, ResourceError
from acdnet.files import check_writable, read_limited, write_atomically


def test_writes_and_replaces(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    write_atomically({a: b"one", b: b"1"})
    write_atomically({a: b"two"})
    assert (a.read_bytes(), b.read_bytes()) == (b"two", b"1")
    assert sorted(tmp_path.iterdir()) == [a, b]


@pytest.mark.parametrize("fails_at", [1, 2])
def test_a_failure_leaves_the_old_files_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    write_atomically({a: b"old", b: b"old"})
    calls = iter(range(1, 9))

    def full(_: int) -> None:
        if next(calls) == fails_at:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ResourceError, match="No space left") as caught:
        write_atomically({a: b"new", b: b"new"})
    assert caught.value.exit_code == 5
    assert (a.read_bytes(), b.read_bytes()) == (b"old", b"old")
    assert sorted(tmp_path.iterdir()) == [a, b]


def test_new_files_obey_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically({tmp_path / "a": b""})
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_unwritable_places_are_refused_first(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    check_writable([tmp_path / "new", tmp_path / "file"], overwrite=True)
    for path, overwrite, message in (
        (tmp_path / "no" / "a", True, "no such folder"),
        (tmp_path / "folder", True, "is a folder"),
        (tmp_path / "file", False, "already exists"),
        (tmp_path / ("x" * 300), True, "too long"),
    ):
        with pytest.raises(InputRefused, match=message):
            check_writable([path], overwrite)


def test_only_regular_files_within_the_limit_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_limited(tmp_path / "a", 5) == b"12345"
    with pytest.raises(InputRefused, match="larger than 4 bytes"):
        read_limited(tmp_path / "a", 4)
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "nothing", ".", "x" * 300):
        with pytest.raises(InputRefused):
            read_limited(tmp_path / name, 5)
