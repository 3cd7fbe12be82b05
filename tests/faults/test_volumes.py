"""NIfTI volumes and arrays whose headers lie, or that are damaged, sheared or tilted."""

import gzip
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest

from acdnet.errors import InputRefused
from acdnet.io.nifti import NiftiScan
from acdnet.io.nifti_checks import SLACK
from acdnet.npy import map_array
from tests.io.test_open import nifti
from tests.reduction.make import reduce, series, volume

VOXELS = np.moveaxis(volume(), 0, 2)


def refused(source: Path, tmp_path: Path, *words: str, options: tuple[object, ...] = ()) -> None:
    """Demand a refusal in one line that says why, and that nothing is left."""
    before = set(tmp_path.iterdir())
    done = reduce(source, tmp_path / "out", *options)
    assert done.code == 3, done.text
    assert [word for word in words if word not in done.text] == []
    assert set(tmp_path.iterdir()) == before


def patched(path: Path, at: int, form: str, value: Any) -> Path:
    """Overwrite a field of a header."""
    data = bytearray(path.read_bytes())
    struct.pack_into(form, data, at, value)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("at", "form", "value", "word"),
    [
        pytest.param(108, "<f", 0.0, "vox_offset", id="F59 voxels in the header"),
        pytest.param(108, "<f", 352.5, "vox_offset", id="F59 voxels between bytes"),
        pytest.param(108, "<f", float("nan"), "vox_offset", id="F59 voxels nowhere"),
        pytest.param(108, "<f", 1e9, "vox_offset", id="F59 voxels far away"),
        pytest.param(108, "<f", 368.0, "claims", id="F59 voxels that end after the file"),
        pytest.param(42, "<h", 4000, "claims", id="F68 more voxels than bytes"),
        pytest.param(42, "<h", -5, "shape", id="F68 negative sizes"),
        pytest.param(70, "<h", 64, "claims", id="F68 a type that is larger"),
        pytest.param(70, "<h", 999, "NIfTI", id="F68 a type that is unknown"),
        pytest.param(344, "<4s", b"ni1\0", "single file", id="F59 a pair of files"),
    ],
)
def test_headers_that_lie(tmp_path: Path, at: int, form: str, value: Any, word: str) -> None:
    refused(patched(nifti(tmp_path / "a.nii", VOXELS), at, form, value), tmp_path, word)


def test_f68_extensions_that_claim_gigabytes(tmp_path: Path) -> None:
    image = nibabel.Nifti1Image(VOXELS.astype(np.int16), np.diag([2.0, 2.0, 3.0, 1.0]))
    image.header.extensions.append(nibabel.nifti1.Nifti1Extension("comment", b"hello"))
    image.to_filename(tmp_path / "a.nii")
    assert reduce(tmp_path / "a.nii", tmp_path / "good").code == 0
    for size in (2**31 - 16, -8, 0, 400):
        refused(patched(tmp_path / "a.nii", 352, "<i", size), tmp_path, "extension")


def test_f59_a_result_that_reads_as_something_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = nifti(tmp_path / "a.nii", VOXELS)

    original = NiftiScan.__init__

    def mirrored(self: NiftiScan, path: Path) -> None:
        original(self, path)
        if path.name.startswith("reduced"):
            self.raw = self.raw[::-1]

    monkeypatch.setattr(NiftiScan, "__init__", mirrored)
    refused(path, tmp_path, "reads as something else")


SHEARED = np.array([[2.5, 1.2, 0, 0], [0, 2.5, 0, 0], [0, 0, 3, 0], [0, 0, 0, 1]])


def tilted(degrees: float) -> np.ndarray[Any, Any]:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[2, 0, 0, 0], [0, 2 * c, -3 * s, 0], [0, 2 * s, 3 * c, 0], [0, 0, 0, 1]])


def test_f67_sheared_volumes(tmp_path: Path) -> None:
    source = nifti(tmp_path / "a.nii", VOXELS, SHEARED)
    refused(source, tmp_path, "not perpendicular", options=("--accept-non-axial",))


def test_f67_tilted_volumes(tmp_path: Path) -> None:
    source = nifti(tmp_path / "a.nii", VOXELS, tilted(44))
    refused(source, tmp_path, "tilted by more than 35 degrees", "--accept-non-axial")
    assert reduce(source, tmp_path / "accepted", "--accept-non-axial").code == 0
    assert reduce(nifti(tmp_path / "b.nii", VOXELS, tilted(30)), tmp_path / "gantry").code == 0


def damaged(data: bytes) -> dict[str, bytes]:
    return {
        "F68 another sum": data[:-8] + bytes(4) + data[-4:],
        "F68 cut short": data[:-20],
        "F68 cut in the middle": data[: len(data) // 2],
        "F68 another size": data[:-4] + b"\1\2\3\4",
        "F68 more that follows": data + b"not gzip",
        "F68 more than claimed": data + gzip.compress(bytes(SLACK + 1), mtime=0),
    }


@pytest.mark.parametrize("kind", [pytest.param(name, id=name) for name in damaged(bytes(99))])
def test_packed_volumes_that_are_damaged(tmp_path: Path, kind: str) -> None:
    path = nifti(tmp_path / "a.nii.gz", VOXELS)
    path.write_bytes(damaged(path.read_bytes())[kind])
    refused(path, tmp_path, "damaged" if kind != "F68 more than claimed" else "more than its header claims")


def test_f68_a_small_file_that_claims_gigabytes(tmp_path: Path) -> None:
    path = nifti(tmp_path / "a.nii", VOXELS[:8, :8])
    plain = patched(patched(patched(path, 42, "<h", 1024), 44, "<h", 1024), 46, "<h", 1000).read_bytes()
    (tmp_path / "b.nii.gz").write_bytes(gzip.compress(plain, mtime=0))
    refused(tmp_path / "b.nii.gz", tmp_path, "claims 2,097,152,000 bytes")


def header(text: bytes, version: int = 1) -> bytes:
    size = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + size + text


HEADERS = {
    "F60 no end": header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (64, 64"),
    "F60 no dictionary": header(b"[1, 2, 3]\n"),
    "F60 no text": header(bytes(range(128, 178))),
    "F60 deep": header(b"(" * 3000),
    "F60 long": header(b" " * 60_000),
    "F60 a shape of truth values": header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (True, False), }\n"),
    "F60 a negative shape": header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (-64, -64), }\n"),
    "F60 a shape of gigabytes": header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (60000, 64, 64), }\n"),
    "F60 a shape without end": header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (1" + b"0" * 99 + b",), }\n"),
    "F60 objects": header(b"{'descr': '|O', 'fortran_order': False, 'shape': (2, 2), }\n"),
    "F60 records": header(b"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 2), }\n"),
    "F60 a type that is none": header(b"{'descr': '<f3', 'fortran_order': False, 'shape': (2, 2), }\n"),
    "F60 another version": header(b"{}", 9),
    "F60 a header of gigabytes": b"\x93NUMPY\x02\x00" + (2**31).to_bytes(4, "little"),
    "F60 a header of kilobytes": header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }".ljust(9000), 2),
    "F60 cut in the header": header(b"{'descr'")[:11],
}


@pytest.mark.parametrize("kind", [pytest.param(name, id=name.removeprefix("F60 ")) for name in HEADERS])
def test_f60_headers_of_arrays(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(HEADERS[kind] + bytes(64))
    tracemalloc.start()
    with pytest.raises(InputRefused):
        map_array(path, 2**30)
    assert tracemalloc.get_traced_memory()[1] < 2**22
    tracemalloc.stop()
    refused(path, tmp_path, options=("--pixel-mm", 2))
    refused(series(tmp_path / "in", (True,)), tmp_path, options=("--mask", path))


def test_arrays_that_are_sound_are_mapped(tmp_path: Path) -> None:
    for array in (VOXELS, np.asfortranarray(VOXELS), np.zeros((0, 3)), np.ones((2, 2), bool)):
        np.save(tmp_path / "a.npy", array)
        found = map_array(tmp_path / "a.npy", 2**24)
        assert np.array_equal(found, array)
        assert found.dtype == array.dtype
    with pytest.raises(InputRefused, match="larger than"):
        map_array(tmp_path / "a.npy", 64)


SAMPLES = ["F67 nifti_sheared.nii", "F67 nifti_tilted_44.nii", "F59 nifti_vox_offset_0.nii", "F60 npy_header.npy"]


@pytest.mark.parametrize("sample", [pytest.param(name, id=name) for name in SAMPLES])
def test_samples(tmp_path: Path, shared: Path, sample: str) -> None:
    refused(shared / "reference/faults" / sample.split()[1], tmp_path, options=("--pixel-mm", 2))
