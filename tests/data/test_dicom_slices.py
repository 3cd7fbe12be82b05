from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acdnet.data.dicom_slices import dicom_slices, read_slice
from acdnet.errors import InputRefused
from tests.io.dicom.make import write_slice

HU = np.arange(-1024, -1024 + 20 * 24).reshape(20, 24)


def test_reads_hu_and_spacing(tmp_path: Path) -> None:
    raw = read_slice(write_slice(tmp_path / "a.dcm", HU, PixelSpacing=[0.7, 0.9]))
    assert np.array_equal(raw.hu, HU)
    assert raw.spacing_mm == (0.7, 0.9)
    assert len(raw.sha256) == 64


def test_padding_is_air(tmp_path: Path) -> None:
    raw = read_slice(write_slice(tmp_path / "a.dcm", HU, PixelPaddingValue=5, PixelPaddingRangeLimit=9))
    assert (raw.hu.ravel()[5:10] == -1000).all()
    assert raw.hu.ravel()[10] == HU.ravel()[10]


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ({"RescaleSlope": 0}, "RescaleSlope"),
        ({"PixelSpacing": [0, 0.8]}, "PixelSpacing"),
        ({"NumberOfFrames": 3}, "NumberOfFrames"),
        ({"Rows": 65535, "Columns": 65535}, "65535"),
        ({"PixelData": b"\0\0"}, "pixels cannot be read"),
        ({"PixelData": np.full((20, 24), 65000, "<u2").tobytes()}, "implausible HU"),
        ({"ImageOrientationPatient": [1, 0, 0, 0, 0, -1]}, "not axial"),
        ({"SOPClassUID": "1.2.840.10008.5.1.4.1.1.4"}, "not a CT slice"),
        ({"ImageType": ["ORIGINAL", "PRIMARY", "LOCALIZER"]}, "not a CT slice"),
    ],
)
def test_untrustworthy_slices_are_refused(tmp_path: Path, tags: dict[str, Any], message: str) -> None:
    """The faults of files are tested in tests/faults; both read by the same functions."""
    with pytest.raises(InputRefused, match=message):
        read_slice(write_slice(tmp_path / "a.dcm", HU, **tags))


def test_duplicate_slices_are_used_once(tmp_path: Path) -> None:
    for name in ("a.dcm", "b.dcm"):
        write_slice(tmp_path / name, HU, SOPInstanceUID="1.2.3.4.5")
    assert len(dicom_slices(tmp_path).slices) == 1


def test_text_and_cut_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.dcm").write_text("hello")
    with pytest.raises(InputRefused, match="not a DICOM file"):
        dicom_slices(tmp_path / "text.dcm")
    whole = write_slice(tmp_path / "a.dcm", HU).read_bytes()
    for length in (140, 300, 600, len(whole) - 10):
        (tmp_path / "cut.dcm").write_bytes(whole[:length])
        with pytest.raises(InputRefused):
            read_slice(tmp_path / "cut.dcm")


def test_f21_a_uid_with_two_pictures_is_refused(tmp_path: Path) -> None:
    write_slice(tmp_path / "a.dcm", HU, SOPInstanceUID="1.2.3.4.5")
    write_slice(tmp_path / "b.dcm", HU + 1, SOPInstanceUID="1.2.3.4.5")
    with pytest.raises(InputRefused, match="other pixels"):
        dicom_slices(tmp_path)


def test_a_tilted_gantry_is_axial(tmp_path: Path) -> None:
    tilt = np.radians(20)
    raw = read_slice(
        write_slice(tmp_path / "a.dcm", HU, ImageOrientationPatient=[1, 0, 0, 0, np.cos(tilt), np.sin(tilt)])
    )
    assert raw.hu.shape == HU.shape


@pytest.mark.parametrize("count", [150, pytest.param(1500, marks=pytest.mark.slow)])
def test_f56_damaged_files_are_refused_or_read(tmp_path: Path, count: int) -> None:
    """Random bytes changed: only a refusal or a slice may come out, whether listed or read."""
    whole = write_slice(tmp_path / "good.dcm", HU[:8, :8]).read_bytes()
    folder = tmp_path / "mutated"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for _ in range(count):
        data = bytearray(whole)
        for place in rng.integers(132, len(data), rng.integers(1, 6)):
            data[place] = rng.integers(256)
        (folder / "a.dcm").write_bytes(data)
        try:
            for ref in dicom_slices(folder).slices:
                assert np.isfinite(ref.read().hu).all()
        except InputRefused:
            pass
