"""What `acdnet reduce` does with odd slices, odd places, and interruptions."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from numpy.typing import NDArray

import acdnet
from acdnet.errors import InputRefused
from acdnet.files import locked
from acdnet.reduction.output import MARK
from acdnet.reduction.reducer import Outcome
from tests.faults.test_reading import pixels
from tests.reduction.make import SIZE, body, reduce, run, series, volume


def report(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "report.json").read_text())
    return found


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.rglob("*") if p.is_file()
    }


def test_f29_slices_without_metal_come_out_bit_for_bit(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (False, True, False))
    assert reduce(source, tmp_path / "out").code == 0
    for n in (1, 3):
        before = pydicom.dcmread(source / f"IM{n:04d}.dcm")
        after = pydicom.dcmread(tmp_path / f"out/reduced/{n:04d}.dcm")
        assert before.PixelData == after.PixelData
        assert not pydicom.dcmread(tmp_path / f"out/difference/{n:04d}.dcm").pixel_array.any()
    assert [one["status"] for one in report(tmp_path / "out")["slices"]] == ["unchanged", "reduced", "unchanged"]


def test_f30_too_much_metal_or_metal_at_the_edge_is_passed_through(tmp_path: Path) -> None:
    much, edge = body(), body()
    much[(much > -500) & (np.arange(SIZE)[:, None] < SIZE // 2)] = 3000
    edge[30:34, -3:] = 3071
    source = series(tmp_path / "in", hu=[much, edge, body()])
    done = reduce(source, tmp_path / "out")
    assert done.code == 4
    slices = report(tmp_path / "out")["slices"]
    assert [one["status"] for one in slices] == ["passed through", "passed through", "reduced"]
    assert "of the body" in slices[0]["reason"]
    assert "edge" in slices[1]["reason"]
    assert np.array_equal(pixels(source)[:2], pixels(tmp_path / "out/reduced")[:2])


@pytest.mark.parametrize("value", [-1000.0, 0.0, 100.0])
def test_f31_nothing_there(tmp_path: Path, value: float) -> None:
    source = series(tmp_path / "in", hu=np.full((2, SIZE, SIZE), value))
    assert reduce(source, tmp_path / "out").code == 0
    assert np.array_equal(pixels(source), pixels(tmp_path / "out/reduced"))


def test_f32_values_that_are_no_numbers() -> None:
    image = body(metal_hu=8000.0)
    outside = image.copy()
    outside[50, 20] = np.nan
    with pytest.raises(InputRefused, match="not finite"):
        acdnet.reduce(outside, (2.0, 2.0), "li")
    inside = image.copy()
    centre = np.argwhere(image == 8000.0).mean(0).astype(int)
    inside[centre[0], centre[1]] = np.inf
    for method in ("li", "acdnet"):
        done = acdnet.reduce(inside, (2.0, 2.0), method)
        assert np.isfinite(done.hu).all()
        assert done.slices[0].status == "reduced"


@pytest.mark.parametrize("metal", [True, False])
def test_f32_values_that_are_no_numbers_in_files(tmp_path: Path, metal: bool) -> None:
    images = volume((metal, True))
    images[0, 40, 20] = np.inf
    np.save(tmp_path / "a.npy", images)
    done = reduce(tmp_path / "a.npy", tmp_path / "out", "--pixel-mm", 2)
    assert done.code == 3
    assert "slice 1" in done.text
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / ".out.partial").exists()


def test_f33_a_result_that_is_not_finite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from acdnet.reduction.reducer import reduce_slice as real

    def broken(reducer: Any, hu: NDArray[np.float32], metal: Any, spacing: Any) -> Outcome:
        done = real(reducer, hu, metal, spacing)
        return Outcome(np.where(hu > 600, np.float32(np.nan), done.change)) if hu[0, 0] == -990 else done

    monkeypatch.setattr("acdnet.reduction.array.reduce_slice", broken)
    images = volume((True, True))
    images[1, 0, 0] = -990
    source = series(tmp_path / "in", hu=images)
    done = reduce(source, tmp_path / "out")
    assert done.code == 4
    assert "not finite" in done.text
    assert np.array_equal(pixels(source)[1], pixels(tmp_path / "out/reduced")[1])


def test_f36_names_from_files_are_never_paths(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True,), SeriesDescription="xx/xx/evil" + "z" * 40)
    file = source / "IM0001.dcm"
    data = file.read_bytes().replace(b"xx/xx/evil", b"../..\0evil")
    uid = str(pydicom.dcmread(file).SOPInstanceUID).encode()
    file.write_bytes(data.replace(uid, b"../../../etc/passwd".ljust(len(uid), b"x")))
    before = {path for path in tmp_path.rglob("*") if not path.is_relative_to(tmp_path / "out")}
    done = reduce(source, tmp_path / "out")
    assert done.code == 0, done.text
    assert {path for path in tmp_path.rglob("*") if not path.is_relative_to(tmp_path / "out")} == before
    assert {path.name for path in (tmp_path / "out/reduced").iterdir()} == {"0001.dcm"}


def test_f37_links_that_lead_out(tmp_path: Path) -> None:
    source, other = series(tmp_path / "in"), series(tmp_path / "other")
    (source / "link.dcm").symlink_to(other / "IM0001.dcm")
    assert "link" in (done := reduce(source, tmp_path / "out")).text
    assert done.code == 3
    (source / "link.dcm").unlink()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
    assert reduce(source, tmp_path / "out").code == 3
    assert not any((tmp_path / "elsewhere").iterdir())


def test_f38_an_output_that_is_in_the_way(tmp_path: Path) -> None:
    source = series(tmp_path / "in")
    before = hashes(source)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/notes").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for out in (source, source / "inside", tmp_path / "full", tmp_path / "file", tmp_path / "no/where"):
        assert reduce(source, out).code == 3
    assert hashes(source) == before
    assert (tmp_path / "full/notes").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    assert reduce(source, tmp_path / "empty").code == 0
    assert hashes(source) == before


def test_f38_a_folder_of_somebody_else_where_the_result_would_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, mine = series(tmp_path / "in"), tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years")
    (tmp_path / ".out.partial").symlink_to(mine)
    assert reduce(source, tmp_path / "out").code == 3
    (tmp_path / ".out.partial").unlink()
    mine.rename(tmp_path / ".out.partial")
    assert reduce(source, tmp_path / "out").code == 3
    assert (tmp_path / ".out.partial/thesis.txt").read_text() == "years"
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert "current folder" in reduce(source, Path()).text
    assert not any((tmp_path / "here").iterdir())


def test_f39_names_in_any_script_are_kept_byte_for_byte(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True,))
    file = source / "IM0001.dcm"
    dataset = pydicom.dcmread(file)
    dataset.SpecificCharacterSet = ["", "ISO 2022 IR 87"]
    dataset.PatientName = "Yamada^Tarou=山田^太郎"
    dataset.add_new("InstitutionName", "LO", "Klinik")
    dataset.save_as(file)
    data = file.read_bytes()
    data = data.replace(b"Klinik", b"Kl\xef\xffik")  # not of this character set at all
    file.write_bytes(data)
    assert reduce(source, tmp_path / "out").code == 0
    after = (tmp_path / "out/reduced/0001.dcm").read_bytes()
    start = data.index(b"\x10\x00\x10\x00PN")
    assert data[start : start + 40] in after
    assert b"Kl\xef\xffik" in after


def test_f41_twice_the_same(tmp_path: Path) -> None:
    source = series(tmp_path / "in")
    for name in ("a", "b"):
        assert reduce(source, tmp_path / name).code == 0
    for kind in ("reduced", "difference"):
        for n in (1, 2, 3):
            one, two = (pydicom.dcmread(tmp_path / f"{name}/{kind}/{n:04d}.dcm") for name in "ab")
            assert one.SOPInstanceUID == two.SOPInstanceUID
            assert one.SeriesInstanceUID == two.SeriesInstanceUID
            assert one.PixelData == two.PixelData
    assert reduce(source, tmp_path / "c", "--metal-threshold", 2000).code == 0
    other = pydicom.dcmread(tmp_path / "c/reduced/0002.dcm")
    assert other.SOPInstanceUID != pydicom.dcmread(tmp_path / "a/reduced/0002.dcm").SOPInstanceUID


def test_f43_a_checkpoint_is_no_model(tmp_path: Path) -> None:
    source = series(tmp_path / "in")
    (tmp_path / "model.pt").write_bytes(b"PK")
    done = run("reduce", source, tmp_path / "out", "--model", tmp_path / "model.pt")
    assert done.code == 3
    assert "import-weights" in done.text


def command(source: Path, out: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "acdnet", "reduce", str(source), str(out), "--method", "li", *options]


def same_but_for_the_time(a: Path, b: Path) -> bool:
    names = sorted(path.name for path in (a / "reduced").iterdir())
    for kind in ("reduced", "difference"):
        for name in names:
            one, two = (pydicom.dcmread(folder / kind / name) for folder in (a, b))
            if one.PixelData != two.PixelData or one.SOPInstanceUID != two.SOPInstanceUID:
                return False
    ours, theirs = ({k: v for k, v in report(folder).items() if k != "created"} for folder in (a, b))
    return ours == theirs


def test_f44_killed_and_started_again(tmp_path: Path) -> None:
    """Kill -9 at several moments; nothing under the final name until all is done, and then the same as ever."""
    source = series(tmp_path / "in", (True,) * 30)
    assert reduce(source, tmp_path / "whole").code == 0
    partial, hits = tmp_path / ".out.partial", 0
    moments: list[Callable[[], bool]] = [
        lambda: partial.exists(),
        lambda: len(list(partial.rglob("*.npz"))) >= 3,
        lambda: len(list(partial.rglob("*.npz"))) >= 20,
        lambda: len(list(partial.rglob("*.dcm"))) >= 5,
    ]
    for reached in moments:
        process = subprocess.Popen(command(source, tmp_path / "out", "--workers", "1"), stdout=subprocess.DEVNULL)
        while not reached() and process.poll() is None:
            time.sleep(0.002)
        process.kill()
        hits += process.wait() == -signal.SIGKILL
        if (tmp_path / "out").exists():
            break
    assert hits >= 3
    if not (tmp_path / "out").exists():
        assert reduce(source, tmp_path / "out").code == 0
    assert same_but_for_the_time(tmp_path / "whole", tmp_path / "out")
    assert not (tmp_path / ".out.partial").exists()


def test_f44_what_was_finished_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from acdnet.reduction.array import treat as real

    source, calls = series(tmp_path / "in", (True,) * 4), []
    interrupt = True

    def counted(*arguments: Any) -> Any:
        calls.append(arguments[-1])
        if len(calls) == 3 and interrupt:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr("acdnet.reduction.files.treat", counted)
    done = reduce(source, tmp_path / "out", "--workers", 1)
    assert done.code == 130
    assert not (tmp_path / "out").exists()
    interrupt = False
    assert reduce(source, tmp_path / "out", "--workers", 1).code == 0
    assert sorted(calls) == [0, 1, 2, 2, 3]


def test_f44_a_damaged_slice_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = series(tmp_path / "in", (True,) * 2)
    with monkeypatch.context() as patched:
        patched.setattr("acdnet.reduction.files._write", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            reduce(source, tmp_path / "out")
    kept = sorted((tmp_path / ".out.partial").rglob("*.npz"))
    assert len(kept) == 2
    kept[0].write_bytes(kept[0].read_bytes()[:100])
    assert reduce(source, tmp_path / "out").code == 0
    assert reduce(source, tmp_path / "again").code == 0
    assert same_but_for_the_time(tmp_path / "out", tmp_path / "again")


def test_f45_a_full_or_closed_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    source = series(tmp_path / "in")
    real = Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        if self.suffix == ".dcm":
            raise OSError(errno.ENOSPC, "No space left on device", str(self))
        return real(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    done = reduce(source, tmp_path / "out")
    assert done.code == 5
    assert "No space left" in done.text
    assert not (tmp_path / "out").exists()
    monkeypatch.undo()
    assert reduce(source, tmp_path / "out").code == 0


def test_f47_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("acdnet.reduction.files.treat", none_left)
    done = reduce(series(tmp_path / "in"), tmp_path / "out")
    assert done.code == 5
    assert "--workers 1" in done.text
    assert not (tmp_path / "out").exists()


def test_f48_two_processes_one_output(tmp_path: Path) -> None:
    source = series(tmp_path / "in")
    (tmp_path / ".out.partial").mkdir()
    (tmp_path / ".out.partial" / MARK).touch()
    with locked(tmp_path / ".out.partial/.lock"):
        done = reduce(source, tmp_path / "out")
    assert done.code == 5
    assert "another process" in done.text
    assert reduce(source, tmp_path / "out").code == 0


def test_f49_ctrl_c(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True,) * 40)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in the background
    process = subprocess.Popen(
        command(source, tmp_path / "out", "--workers", "1"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while (
        not list((tmp_path / ".out.partial").rglob("*.npz")) and time.monotonic() < deadline and process.poll() is None
    ):
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert not (tmp_path / "out").exists()
    assert list((tmp_path / ".out.partial").rglob("*.npz"))


def test_f50_workers_change_no_byte(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True,) * 4)
    for workers in (1, 2):
        assert run("reduce", source, tmp_path / str(workers), "--workers", workers).code == 0
    assert same_but_for_the_time(tmp_path / "1", tmp_path / "2")
    maps = [sorted((tmp_path / name / "maps").iterdir()) for name in "12"]
    assert [path.read_bytes() for path in maps[0]] == [path.read_bytes() for path in maps[1]]


@pytest.mark.parametrize("method", ["li", "acdnet"])
def test_f50_threads_change_next_to_nothing(method: str) -> None:
    import torch

    before, images = torch.get_num_threads(), []
    try:
        for threads in (1, 4):
            torch.set_num_threads(threads)
            images.append(acdnet.reduce(body(), (2.0, 2.0), method).hu)
    finally:
        torch.set_num_threads(before)
    assert np.abs(images[0] - images[1]).max() < 0.5


def test_f51_settings_that_cannot_be(tmp_path: Path) -> None:
    source = series(tmp_path / "in")
    for options in (["--metal-threshold", "-5"], ["--segmentation", "magic"], ["--method", "magic"], ["--device", "x"]):
        assert run("reduce", source, tmp_path / "out", *options).code == 2
    assert not (tmp_path / "out").exists()


def test_f55_nothing_that_is_said_names_a_patient(tmp_path: Path) -> None:
    source = series(tmp_path / "in", PatientBirthDate="19610203", StudyDate="20240917")
    (source / "junk").write_text("x")
    done = reduce(source, tmp_path / "out")
    said = done.text + (tmp_path / "out/report.json").read_text() + (tmp_path / "out/report.html").read_text()
    said += " ".join(str(path) for path in (tmp_path / "out").rglob("*"))
    for secret in ("Secret", "Phantom^", "19610203", "20240917"):
        assert secret not in said


@pytest.mark.filterwarnings("ignore")
def test_f56_random_damage(tmp_path: Path) -> None:
    """A thousand files with damaged bytes: read and written again, or refused; nothing else."""
    from acdnet.io.dicom.scan import DicomScan
    from acdnet.io.scan import Provenance

    source = series(tmp_path / "in", (True,), hu=body(64)[None])
    file = source / "IM0001.dcm"
    good, rng = file.read_bytes(), np.random.default_rng(56)
    header = len(good) - 64 * 64 * 2
    refused = 0
    for n in range(1000):
        data = bytearray(good)
        for _ in range(rng.integers(1, 4)):
            data[rng.integers(132, header)] = rng.integers(256)
        file.write_bytes(bytes(data[: rng.integers(header)] if n % 10 == 0 else data))
        try:
            scan = DicomScan(source)
            scan.read(0)
            writer = scan.writer(tmp_path / "w", Provenance("li", "x", "id", "20250101120000"))
            writer.write(0, np.full((64, 64), 7.0, np.float32))
        except InputRefused:
            refused += 1
    assert 0 < refused < 1000
