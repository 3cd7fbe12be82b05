from pathlib import Path

import nibabel
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from acdnet.data.slices import assign_splits, squared
from acdnet.data.sources import open_source
from acdnet.errors import InputRefused
from acdnet.io.slices import Slice
from tests.io.dicom.make import write_slice


def picture(seed: int = 0, shape: tuple[int, int] = (20, 30)) -> NDArray[np.int16]:
    return np.random.default_rng(seed).integers(-1000, 2000, shape).astype(np.int16)


def write_png(path: Path, hu: NDArray[np.int16]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray((hu.astype(np.int32) + 32768).astype(np.uint16)).save(path)


def index(folder: Path, *rows: str, header: str = "file,patient,split,pixel_mm,licence") -> Path:
    (folder / "index.csv").write_text("\n".join((header, *rows)) + "\n")
    return folder


def test_indexed_pngs(tmp_path: Path) -> None:
    write_png(tmp_path / "p1/000.png", picture(1))
    write_png(tmp_path / "p2/000.png", picture(2))
    index(tmp_path, "p1/000.png,p1,train,0.7,CC BY", "p2/000.png,p2,val,0.8,CC BY")
    one, two = open_source(str(tmp_path)).slices
    assert (one.name, one.patient, one.split, one.notes) == ("p1-000", "p1", "train", {"licence": "CC BY"})
    raw = two.read()
    assert np.array_equal(raw.hu, picture(2))
    assert raw.spacing_mm == (0.8, 0.8)


def test_a_file_named_twice_is_used_once(tmp_path: Path) -> None:
    write_png(tmp_path / "a.png", picture())
    index(tmp_path, "a.png,p1,train,0.7,", "a.png,p1,train,0.7,other")
    assert len(open_source(str(tmp_path)).slices) == 1
    index(tmp_path, "a.png,p1,train,0.7,", "a.png,p1,train,0.9,")
    with pytest.raises(InputRefused, match="has different rows"):
        open_source(str(tmp_path))


def test_a_patient_in_two_splits_must_be_left_out_of_one(tmp_path: Path) -> None:
    for name in "abc":
        write_png(tmp_path / f"{name}.png", picture())
    index(tmp_path, "a.png,p1,train,0.7,", "b.png,p1,test,0.7,", "c.png,p2,test,0.7,")
    with pytest.raises(InputRefused, match="--exclude p1@train"):
        open_source(str(tmp_path))
    assert [ref.name for ref in open_source(str(tmp_path), exclude=["p1@train"]).slices] == ["b", "c"]
    assert [ref.name for ref in open_source(str(tmp_path), exclude=["p1"]).slices] == ["c"]
    with pytest.raises(InputRefused, match="no patient 'p9'"):
        open_source(str(tmp_path), exclude=["p9"])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("../a.png,p1,train,0.7,", "outside its folder"),
        ("a.png,p1,train,,", "no pixel size"),
        ("a.png,p1,train,wide,", "no pixel size"),
        *((row, r"line 2|cannot be read") for row in ("a.png", "a\0.png,p,train,0.7,", ",p,train,0.7,")),
    ],
)
def test_bad_rows_are_refused(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(InputRefused, match=message):
        open_source(str(index(tmp_path, row)))


def test_bad_indices_and_pictures_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match="columns"):
        open_source(str(index(tmp_path, "a,b", header="x,y")))
    index(tmp_path, "a.png,p1,train,0.7,")
    (ref,) = open_source(str(tmp_path)).slices
    with pytest.raises(InputRefused, match="no such file"):
        ref.read()
    (tmp_path / "a.png").write_text("no picture")
    with pytest.raises(InputRefused, match="not a readable PNG"):
        ref.read()
    Image.fromarray(np.zeros((5, 5, 3), np.uint8)).save(tmp_path / "a.png")
    with pytest.raises(InputRefused, match="16-bit"):
        ref.read()
    with pytest.raises(InputRefused, match="no such file or folder"):
        open_source(str(tmp_path / "nowhere"))


def test_nifti_slices_look_as_radiologists_expect(tmp_path: Path) -> None:
    """Rows run from front to back and columns from the patient's right to left, however the file stores them."""
    volume = np.zeros((6, 5, 3), np.int16)  # right to left x, front to back y, in an LPS file
    volume[1, 0, 2] = 700  # near the right side of the patient, at the front, top slice
    affine = np.diag([-0.7, -0.9, 2.0, 1.0])  # LPS in nibabel's RAS
    nibabel.save(nibabel.Nifti1Image(volume, affine), tmp_path / "a.nii.gz")
    slices = open_source(str(tmp_path)).slices
    assert len(slices) == 3
    raw = slices[2].read()
    assert raw.hu.shape == (5, 6)
    assert raw.spacing_mm == pytest.approx((0.9, 0.7))
    assert np.argwhere(raw.hu == 700).tolist() == [[0, 1]]
    flipped = nibabel.Nifti1Image(volume[::-1], np.diag([0.7, -0.9, 2.0, 1.0]))
    nibabel.save(flipped, tmp_path / "a.nii.gz")
    assert np.array_equal(open_source(str(tmp_path / "a.nii.gz")).slices[2].read().hu, raw.hu)


def test_broken_nifti_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.nii").write_bytes(b"nothing")
    with pytest.raises(InputRefused, match="NIfTI"):
        open_source(str(tmp_path))


def test_dicom_folders(tmp_path: Path) -> None:
    for n in range(3):
        write_slice(tmp_path / f"x{n}.dcm", picture(n), PatientID="Jane", ImagePositionPatient=[0, 0, -n])
    write_slice(tmp_path / "other.dcm", picture(9), PatientID="John")
    (tmp_path / "readme.txt").write_text("not DICOM")
    slices = open_source(str(tmp_path)).slices
    assert len({ref.patient for ref in slices}) == 2
    assert not any("Jane" in ref.name + ref.patient for ref in slices)
    patients = [ref.patient for ref in slices]
    jane = [ref.read().hu for ref in slices if patients.count(ref.patient) == 3]
    assert np.array_equal(jane, [picture(2), picture(1), picture(0)])  # lowest first


def test_nothing_to_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("")
    with pytest.raises(InputRefused, match=r"no CT slices found \(1 not DICOM"):
        open_source(str(tmp_path))


def test_phantoms() -> None:
    slices = open_source("phantom", 7, 3).slices
    assert [ref.notes["site"] for ref in slices[:3]] == ["head", "pelvis", "thorax"]
    assert len({ref.patient for ref in slices}) == 7
    assert np.array_equal(slices[4].read().hu, open_source("phantom", 7, 3).slices[4].read().hu)


def test_splits_are_dealt_by_patient() -> None:
    patients = [f"p{n}" for n in range(50)]
    dealt = assign_splits(patients)
    counts = {split: list(dealt.values()).count(split) for split in ("train", "val", "test")}
    assert counts == {"train": 40, "val": 5, "test": 5}
    assert assign_splits(patients[::-1]) == dealt
    assert set(assign_splits(["only"]).values()) <= {"train", "val", "test"}


def test_squaring_keeps_proportions_and_millimetres() -> None:
    hu = np.full((50, 40), 40.0, np.float32)
    square, pixel_mm = squared(Slice(hu, (1.0, 0.5)), 100)  # 50 mm x 20 mm
    assert square.shape == (100, 100)
    assert pixel_mm == pytest.approx(0.5)
    assert (square[:, 30:70] == 40).all()
    assert (square[:, :30] == -1000).all()
    assert (square[:, 70:] == -1000).all()


@pytest.mark.parametrize(("value", "spacing"), [(np.nan, (1.0, 1.0)), (0.0, (1.0, 0.0)), (0.0, (np.nan, 1.0))])
def test_squaring_refuses_values_that_are_not_finite(value: float, spacing: tuple[float, float]) -> None:
    with pytest.raises(InputRefused):
        squared(Slice(np.full((8, 8), value, np.float32), spacing), 16)


def test_slices_with_the_same_name_are_distinguished(tmp_path: Path) -> None:
    write_png(tmp_path / "a/b.png", picture(1))
    write_png(tmp_path / "a-b.png", picture(2))
    index(tmp_path, "a/b.png,p,train,0.7,", "a-b.png,q,train,0.7,")
    one, two = open_source(str(tmp_path)).slices
    assert one.name != two.name


def test_a_packed_volume_that_claims_too_much_is_refused_before_it_is_read(tmp_path: Path) -> None:
    header = nibabel.Nifti1Header()
    header.set_data_shape((4000, 4000, 1000))
    header["vox_offset"] = 352
    header.set_data_dtype(np.int16)
    (tmp_path / "a.nii").write_bytes(header.binaryblock + bytes(4))
    with pytest.raises(InputRefused, match="more than"):
        open_source(str(tmp_path))


def test_reformats_and_scouts_are_passed_over_and_counted(tmp_path: Path) -> None:
    write_slice(tmp_path / "a.dcm", picture())
    write_slice(tmp_path / "b.dcm", picture(), ImageOrientationPatient=[1, 0, 0, 0, 0, -1])
    write_slice(tmp_path / "c.dcm", picture(), ImageType=["ORIGINAL", "PRIMARY", "LOCALIZER"])
    (tmp_path / "d.txt").write_text("")
    (tmp_path / "link.dcm").symlink_to("/etc/hostname")
    found = open_source(str(tmp_path))
    assert len(found.slices) == 1
    assert found.passed_over == {
        "reformats in another plane": 1,
        "scouts": 1,
        "not DICOM": 1,
        "links out of the folder": 1,
    }
