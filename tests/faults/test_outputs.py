"""What is left after a refusal, and how a result takes its final name."""

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest

from acdnet.errors import InputRefused
from acdnet.io.dicom.scan import DicomWriter
from acdnet.messages import quiet_libraries
from acdnet.reduction.output import INSIDE, MARK, check_output
from tests.reduction.make import reduce, run, same_but_for_the_time, series, volume


def test_f63_a_refusal_while_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = series(tmp_path / "in", (True, True))
    write = DicomWriter.write

    def refuse(self: DicomWriter, number: int, change: Any) -> Any:
        if number:
            raise InputRefused("slice 2 cannot be written")
        return write(self, number, change)

    monkeypatch.setattr(DicomWriter, "write", refuse)
    assert reduce(source, tmp_path / "out").code == 3
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_f63_a_refusal_of_a_mask(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True, True))
    np.save(tmp_path / "mask.npy", np.zeros((1, 96, 96), bool))
    assert reduce(source, tmp_path / "out", "--mask", tmp_path / "mask.npy").code == 3
    assert {path.name for path in tmp_path.iterdir()} == {"in", "mask.npy"}


def test_f63_slices_of_an_earlier_run_stay(tmp_path: Path) -> None:
    """A run that was interrupted continues after one that was refused for another reason."""
    source, partial = series(tmp_path / "in", (True, True)), tmp_path / ".out.partial"
    partial.mkdir()
    (partial / MARK).touch()
    (partial / ("0" * 24)).mkdir()
    (partial / ("0" * 24) / "0001.npz").touch()
    np.save(tmp_path / "mask.npy", np.zeros((1, 96, 96), bool))
    assert reduce(source, tmp_path / "out", "--mask", tmp_path / "mask.npy").code == 3
    assert (partial / ("0" * 24) / "0001.npz").exists()


def test_f71_warnings_of_libraries(caplog: pytest.LogCaptureFixture) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        warnings.warn("before", stacklevel=1)
        quiet_libraries()
        warnings.warn("after", stacklevel=1)
        pydicom.config.logger.warning("a value of a tag")
        np.float32(1e38) * np.float32(1e38)
    assert [str(one.message) for one in caught] == ["before"]
    assert "value of a tag" not in caplog.text


def test_f76_everything_is_on_the_disk_before_it_takes_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Follow the order of flushes and renames."""
    events: list[tuple[str, str]] = []
    fsync, replace = os.fsync, Path.replace

    def flush(handle: int) -> None:
        events.append(("flush", str(Path(f"/proc/self/fd/{handle}").readlink())))
        fsync(handle)

    def rename(self: Path, target: Path) -> Path:
        events.append(("rename", str(target)))
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(Path, "replace", rename)
    assert reduce(series(tmp_path / "in", (True,)), tmp_path / "out").code == 0
    last = events.index(("rename", str(tmp_path / "out")))
    flushed = {path for kind, path in events[:last] if kind == "flush"}
    result = tmp_path / ".out.partial/result"
    written = [result, *(result / path.relative_to(tmp_path / "out") for path in (tmp_path / "out").rglob("*"))]
    assert [path for path in written if str(path) not in flushed] == []
    assert ("flush", str(tmp_path)) in events[last:]


@pytest.fixture
def mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that behaves as a mount: it has another device, and cannot be renamed or removed."""
    out = tmp_path / "mounted"
    out.mkdir()
    rmdir = Path.rmdir

    def busy(self: Path) -> None:
        if self == out:
            raise OSError(16, "Device or resource busy")
        rmdir(self)

    replace = Path.replace

    def across(self: Path, target: Path) -> Path:
        if target == out or self.is_relative_to(out) != Path(target).is_relative_to(out):
            raise OSError(18, "Invalid cross-device link")
        return replace(self, target)

    monkeypatch.setattr(Path, "is_mount", lambda self: self == out)
    monkeypatch.setattr(Path, "rmdir", busy)
    monkeypatch.setattr(Path, "replace", across)
    return out


def test_f77_a_mount_is_written_inside(tmp_path: Path, mount: Path) -> None:
    source = series(tmp_path / "in", (True, True))
    assert reduce(source, mount).code == 0
    assert reduce(source, tmp_path / "plain").code == 0
    assert same_but_for_the_time(mount, tmp_path / "plain")
    assert {path.name for path in mount.iterdir()} == {path.name for path in (tmp_path / "plain").iterdir()}
    assert {path.name for path in tmp_path.iterdir()} == {"in", "mounted", "plain"}
    assert reduce(source, mount).code == 3  # it is no longer empty


def test_f77_a_mount_after_an_interruption(tmp_path: Path, mount: Path) -> None:
    """What an interrupted run left there is replaced, what somebody else left there is not."""
    source = series(tmp_path / "in", (True,))
    (mount / INSIDE).mkdir()
    (mount / INSIDE / MARK).touch()
    (mount / "maps").mkdir()
    (mount / "maps/0009.npz").touch()
    (mount / "notes").touch()
    with pytest.raises(InputRefused, match="not an empty folder"):
        check_output(source, mount)
    (mount / "notes").unlink()
    assert reduce(source, mount).code == 0
    assert [path.name for path in (mount / "maps").iterdir()] == ["0001.npz"]
    assert not (mount / INSIDE).exists()


def test_f77_a_refusal_in_a_mount_leaves_nothing(tmp_path: Path, mount: Path) -> None:
    np.save(tmp_path / "a.npy", volume().astype(complex))
    assert reduce(tmp_path / "a.npy", mount, "--pixel-mm", 2).code == 3
    assert not any(mount.iterdir())


def test_f70_names_of_files(tmp_path: Path) -> None:
    done = run("reduce", tmp_path / "a\x1b[2J\nb", tmp_path / "out")
    assert (done.code, done.text.isprintable()) == (3, True)
