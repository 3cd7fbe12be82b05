"""What `acdnet reduce` does with odd slices, odd places, and interruptions."""

from pathlib import Path

import numpy as np
import pydicom
import pytest

import acdnet
from acdnet.errors import InputRefused
from acdnet.io.dicom.scan import DicomScan
from acdnet.io.scan import Provenance
from acdnet.methods.classical import FUNCTIONS, one_by_one
from acdnet.methods.li import li
from acdnet.physics.measurement import Measurement
from acdnet.units import Image
from tests.helpers import with_threads
from tests.reduction.make import SIZE, body, pixels, reduce, report, run, same_but_for_the_time, series, volume


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
    edge[30:60, -3:] = 3071
    source = series(tmp_path / "in", hu=[much, edge, body()])
    done = reduce(source, tmp_path / "out", "--metal-threshold", 2500)
    assert done.code == 4
    slices = report(tmp_path / "out")["slices"]
    assert [one["status"] for one in slices] == ["passed through", "passed through", "reduced"]
    assert "of the body" in slices[0]["reason"]
    assert "edge" in slices[1]["reason"]
    assert np.array_equal(pixels(source)[:2], pixels(tmp_path / "out/reduced")[:2])


def test_f30_a_ring_at_the_edge_is_left_and_the_implant_treated(tmp_path: Path) -> None:
    image = body()
    image[30:33, -2:] = 3071
    source = series(tmp_path / "in", hu=[image])
    done = reduce(source, tmp_path / "out", "--metal-threshold", 2500)
    assert done.code == 0
    assert "slice 1: metal at the edge of the field of view was left as it is" in done.text
    before, after = pixels(source)[0], pixels(tmp_path / "out/reduced")[0]
    assert np.array_equal(before[30:33, -2:], after[30:33, -2:])
    assert not np.array_equal(before, after)
    with np.load(tmp_path / "out/maps/0001.npz") as maps:
        assert maps["metal"][30:33, -2:].all()


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
    def broken(measurement: Measurement) -> Image:
        bad = (measurement.image > 600) & (measurement.image[0, 0] == -990)
        return np.where(bad, np.float32(np.nan), li(measurement))

    monkeypatch.setitem(FUNCTIONS, "li", one_by_one(broken))
    images = volume((True, True))
    images[1, 0, 0] = -990
    source = series(tmp_path / "in", hu=images)
    done = reduce(source, tmp_path / "out")
    assert done.code == 4
    assert "not finite" in done.text
    assert np.array_equal(pixels(source)[1], pixels(tmp_path / "out/reduced")[1])


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
    assert same_but_for_the_time(tmp_path / "a", tmp_path / "b")
    assert reduce(source, tmp_path / "c", "--metal-threshold", 2000).code == 0
    other = pydicom.dcmread(tmp_path / "c/reduced/0002.dcm")
    assert other.SOPInstanceUID != pydicom.dcmread(tmp_path / "a/reduced/0002.dcm").SOPInstanceUID


def test_f43_a_checkpoint_is_no_model(tmp_path: Path) -> None:
    source = series(tmp_path / "in")
    (tmp_path / "model.pt").write_bytes(b"PK")
    done = run("reduce", source, tmp_path / "out", "--method", tmp_path / "model.pt")
    assert done.code == 3
    assert "import-weights" in done.text


def test_f50_workers_change_no_byte(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True,) * 4)
    for workers in (1, 2):
        assert run("reduce", source, tmp_path / str(workers), "--workers", workers).code == 0
    assert same_but_for_the_time(tmp_path / "1", tmp_path / "2")
    maps = [sorted((tmp_path / name / "maps").iterdir()) for name in "12"]
    assert [path.read_bytes() for path in maps[0]] == [path.read_bytes() for path in maps[1]]


@pytest.mark.parametrize("method", ["li", "acdnet"])
def test_f50_threads_change_less_than_half_a_hu(method: str) -> None:
    one, four = with_threads((1, 4), lambda: acdnet.reduce(body(), (2.0, 2.0), method).hu)
    assert np.abs(one - four).max() < 0.5


def test_f51_impossible_settings_are_refused(tmp_path: Path) -> None:
    source = series(tmp_path / "in")
    for options in (["--metal-threshold", "-5"], ["--segmentation", "magic"], ["--method", "magic"], ["--device", "x"]):
        assert run("reduce", source, tmp_path / "out", *options).code == 2
    assert not (tmp_path / "out").exists()


def test_f55_no_output_names_a_patient(tmp_path: Path) -> None:
    source = series(tmp_path / "in", PatientBirthDate="19610203", StudyDate="20240917")
    (source / "junk").write_text("x")
    done = reduce(source, tmp_path / "out")
    said = done.text + (tmp_path / "out/report.json").read_text() + (tmp_path / "out/report.html").read_text()
    said += " ".join(str(path) for path in (tmp_path / "out").rglob("*"))
    for secret in ("Secret", "Phantom^", "19610203", "20240917"):
        assert secret not in said


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_f56_random_damage(tmp_path: Path, count: int) -> None:
    """Files with damaged bytes: read and written again, or refused; nothing else."""
    source = series(tmp_path / "in", (True,), hu=body(64)[None])
    file = source / "IM0001.dcm"
    good, rng = file.read_bytes(), np.random.default_rng(56)
    header = len(good) - 64 * 64 * 2
    refused = 0
    for n in range(count):
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
    assert 0 < refused < count
