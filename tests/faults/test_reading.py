"""Bad DICOM input to `acdnet reduce`: refused in one line, or read as what it is."""

import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from pydicom.uid import JPEG2000Lossless, JPEGLSLossless, JPEGLSNearLossless, RLELossless

from acdnet.io.dicom.create import new_series, write_series
from acdnet.io.dicom.scan import DicomScan
from acdnet.methods.metal import Segmentation, find_metal
from tests.reduction.make import SIZE, SPACING, body, pixels, reduce, report, series, volume


def refused(source: Path, tmp_path: Path, *words: str, options: tuple[str, ...] = ()) -> None:
    """Demand a refusal that says why, and that nothing was written."""
    tmp_path.mkdir(exist_ok=True)
    done = reduce(source, tmp_path / "out", *options)
    assert done.code == 3, done.text
    for word in words:
        assert word in done.text
    assert not (tmp_path / "out").exists()


def test_f01_other_files_are_skipped_and_listed(tmp_path: Path) -> None:
    source = series(tmp_path / "in")
    (source / "empty").touch()
    (source / "notes.txt").write_text("hello")
    (source / "picture.jpg").write_bytes(b"\xff\xd8\xff\xe0" + bytes(300))
    done = reduce(source, tmp_path / "out")
    assert done.code == 4
    assert "skipped: 3 not DICOM" in done.text
    for file in source.glob("*.dcm"):
        file.unlink()
    refused(source, tmp_path / "b", "no CT slice", "3 not DICOM")


def test_f01_a_disc_with_its_table_of_contents(tmp_path: Path) -> None:
    from pydicom.fileset import FileSet

    source = series(tmp_path / "in")
    disc = FileSet()
    for file in source.iterdir():
        disc.add(file)
    disc.write(tmp_path / "disc")
    disc._stage["t"].cleanup()  # or it warns when it is collected
    assert (tmp_path / "disc/DICOMDIR").exists()
    assert reduce(tmp_path / "disc", tmp_path / "out").code == 0


def test_f01_pictures_next_to_a_series(tmp_path: Path) -> None:
    source = series(tmp_path / "in")
    for file in source.iterdir():
        file.rename(file.with_suffix(""))
    (source / "thumb.png").write_bytes(b"\x89PNG")
    assert "1 not DICOM" in reduce(source, tmp_path / "out").text


def test_f02_a_truncated_header(tmp_path: Path) -> None:
    source = series(tmp_path / "in")
    file = source / "IM0002.dcm"
    data = file.read_bytes()
    at = data.index(b"\x20\x00\x32\x00")  # ImagePositionPatient
    file.write_bytes(data[:at])
    refused(source, tmp_path, "IM0002.dcm", "missing")


GROWN = Segmentation("grown")
COLOUR = {"PhotometricInterpretation": "RGB", "SamplesPerPixel": 3, "PlanarConfiguration": 0}
NEGATIVE = {"PixelData": np.full((SIZE, SIZE), -500, "<i2").tobytes(), "BitsStored": 16, "HighBit": 15}


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        pytest.param({"PixelData": bytes(100)}, "pixels cannot be read", id="F03 fewer pixels"),
        pytest.param({"RescaleSlope": None}, "RescaleSlope", id="F07 no slope"),
        pytest.param({"RescaleIntercept": None}, "RescaleIntercept", id="F07 no intercept"),
        pytest.param(NEGATIVE, "implausible HU range", id="F09 signed data labelled unsigned"),
        pytest.param({**COLOUR, "PixelData": bytes(SIZE * SIZE * 6)}, "colour", id="F16 colour"),
        pytest.param({"HighBit": 15}, "", id="F18 other high bit"),
        pytest.param({"RescaleType": "MGML"}, "", id="F18 no HU"),
        pytest.param({"SOPClassUID": "1.2.840.10008.5.1.4.1.1.2.2"}, "", id="F18 legacy multi-frame"),
        pytest.param({"SOPClassUID": "1.2.840.10008.5.1.4.1.1.2.1"}, "single frames", id="F18 enhanced multi-frame"),
        pytest.param({"ImageOrientationPatient": None}, "ImageOrientationPatient", id="F24 no orientation"),
        pytest.param({"ImageOrientationPatient": [2, 0, 0, 0, 1, 0]}, "unit vectors", id="F24 impossible orientation"),
        pytest.param({"PixelSpacing": None}, "PixelSpacing", id="F26 no pixel size"),
        pytest.param({"PixelSpacing": [0, 2]}, "PixelSpacing", id="F26 pixels of no size"),
        pytest.param({"PixelSpacing": [0.5, 0.5]}, "field", id="F28 field of 5 cm"),
        pytest.param({"hu": np.zeros((1, 32, 32))}, "32 x 32", id="F28 32 x 32 pixels"),
    ],
)
def test_series_with_wrong_tags_are_refused(tmp_path: Path, tags: dict[str, Any], words: str) -> None:
    refused(series(tmp_path / "in", **tags), tmp_path, words)


@pytest.mark.parametrize("packed", [False, True])
def test_f04_a_giant_that_is_small(tmp_path: Path, packed: bool) -> None:
    datasets = new_series(volume((True,)), SPACING, "x")
    if packed:
        datasets[0].compress(RLELossless)
    datasets[0].Rows = datasets[0].Columns = 65535
    source = write_series(tmp_path / "in", datasets)
    tracemalloc.start()
    refused(source, tmp_path, "65535")
    assert tracemalloc.get_traced_memory()[1] < 100e6
    tracemalloc.stop()


def test_f04_a_stream_that_claims_another_size(tmp_path: Path) -> None:
    pytest.importorskip("openjpeg")
    datasets = new_series(volume((True,)), SPACING, "x")
    datasets[0].compress(JPEG2000Lossless)
    data = bytearray(datasets[0].PixelData)
    at = data.index(b"\xff\x4f\xff\x51") + 8
    data[at : at + 8] = (30_000).to_bytes(4, "big") * 2
    datasets[0].PixelData = bytes(data)
    refused(write_series(tmp_path / "in", datasets), tmp_path, "30000")


def test_f05_a_deflated_bomb(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True,))
    file = source / "IM0001.dcm"
    dataset = pydicom.dcmread(file)
    dataset.file_meta.TransferSyntaxUID = pydicom.uid.DeflatedExplicitVRLittleEndian
    dataset.save_as(file)
    meta = file.read_bytes()[:400]
    end = meta.rindex(b"1.2.840.10008.1.2.1.99") + 22
    file.write_bytes(meta[:end] + zlib.compress(bytes(200_000_000), 9)[2:-4])
    refused(source, tmp_path, "deflated")


def test_f06_deep_nesting(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True,))
    item = b"\xfe\xff\x00\xe0\xff\xff\xff\xff"
    nest = b"".join(b"\x08\x00\x40\x11SQ\0\0\xff\xff\xff\xff" + item for _ in range(3000))
    file = source / "IM0001.dcm"
    data = file.read_bytes()
    at = data.index(b"\x10\x00\x10\x00")
    file.write_bytes(data[:at] + nest + data[at:])
    done = reduce(source, tmp_path / "out")
    assert done.code == 3
    assert "Traceback" not in done.text


@pytest.mark.parametrize("slope", ["0", "-1", "nan", "1e30"])
def test_f08_impossible_slopes_are_refused(tmp_path: Path, slope: str) -> None:
    datasets = new_series(volume((True,)), SPACING, "x")
    element = pydicom.DataElement("RescaleSlope", "DS", "1")
    element._value = slope
    datasets[0]["RescaleSlope"] = element
    refused(write_series(tmp_path / "in", datasets), tmp_path, "RescaleSlope")


def test_f10_rubbish_in_the_high_bits(tmp_path: Path) -> None:
    clean = series(tmp_path / "a")
    dirty = series(tmp_path / "b")
    for file in dirty.iterdir():
        dataset = pydicom.dcmread(file)
        stored = np.frombuffer(dataset.PixelData, "<u2") | np.uint16(0xA000)
        dataset.PixelData = stored.tobytes()
        dataset.save_as(file)
    assert reduce(clean, tmp_path / "x").code == reduce(dirty, tmp_path / "y").code == 0
    assert np.array_equal(pixels(tmp_path / "x/reduced"), pixels(tmp_path / "y/reduced"))


@pytest.mark.parametrize("bits", [13, 14, 15])
def test_f11_other_depths(tmp_path: Path, bits: int) -> None:
    source = series(tmp_path / "in", BitsStored=bits, HighBit=bits - 1)
    assert reduce(source, tmp_path / "out").code == 0
    dataset = pydicom.dcmread(tmp_path / "out/reduced/0001.dcm")
    assert dataset.BitsStored == bits
    assert np.array_equal(dataset.pixel_array, pydicom.dcmread(source / "IM0001.dcm").pixel_array)


def test_f12_monochrome1(tmp_path: Path) -> None:
    one, two = (series(tmp_path / f"in{n}", PhotometricInterpretation=f"MONOCHROME{n}") for n in (1, 2))
    assert np.array_equal(DicomScan(one).read(1).hu, DicomScan(two).read(1).hu)
    assert reduce(one, tmp_path / "x").code == reduce(two, tmp_path / "y").code == 0
    assert np.array_equal(pixels(tmp_path / "x/reduced"), pixels(tmp_path / "y/reduced"))
    assert pydicom.dcmread(tmp_path / "x/reduced/0002.dcm").PhotometricInterpretation == "MONOCHROME1"


@pytest.mark.parametrize("limit", [None, -1990])
def test_f13_padding_stays_and_nothing_else_looks_like_it(tmp_path: Path, limit: int | None) -> None:
    y, x = np.mgrid[:SIZE, :SIZE]
    outside = np.hypot(y - SIZE / 2, x - SIZE / 2) > SIZE / 2 - 1
    stored = np.stack([body().astype("<i2") for _ in range(3)])
    stored[:, outside] = -2000 if limit is None else -1995
    datasets = new_series(volume((True,) * 3), SPACING, "x")
    for dataset, image in zip(datasets, stored, strict=True):
        dataset.PixelRepresentation, dataset.RescaleIntercept = 1, 0
        dataset.BitsStored, dataset.HighBit = 16, 15
        dataset.PixelData = image.tobytes()
        dataset.add_new("PixelPaddingValue", "SS", -2000)
        if limit is not None:
            dataset.add_new("PixelPaddingRangeLimit", "SS", limit)
    source = write_series(tmp_path / "in", datasets)
    done = reduce(source, tmp_path / "out")
    assert done.code == 0, done.text
    after = pixels(tmp_path / "out/reduced")
    assert np.array_equal(after[:, outside], stored[:, outside])
    assert (after[:, ~outside] > -1990).all()
    assert not np.array_equal(after, stored)
    assert not pixels(tmp_path / "out/difference")[:, outside].any()


def test_f14_saturated_metal(tmp_path: Path) -> None:
    low, high = body(metal_hu=3071.0), body(metal_hu=8500.0)
    a, b = (find_metal(image, (2.0, 2.0), GROWN) for image in (low, high))
    assert a.any()
    assert np.array_equal(a, b)
    assert reduce(series(tmp_path / "in"), tmp_path / "out", "--segmentation", "grown").code == 0
    before, after = pixels(tmp_path / "in")[1], pixels(tmp_path / "out/reduced")[1]
    assert np.array_equal(before[a], after[a])
    slices = report(tmp_path / "out")["slices"]
    assert [one["saturated"] for one in slices] == [False, True, True]
    tags = {"BitsStored": 16, "HighBit": 15}
    datasets = new_series(volume(), SPACING, "wide", **tags)
    for dataset, image in zip(datasets, volume(metal_hu=8500.0), strict=True):
        dataset.PixelData = (image + 1024).astype("<u2").tobytes()
    assert reduce(write_series(tmp_path / "wide", datasets), tmp_path / "b", "--segmentation", "grown").code == 0
    slices = report(tmp_path / "b")["slices"]
    assert [one["saturated"] for one in slices] == [False, False, False]
    assert [one["metal_pixels"] for one in slices] == [0, a.sum(), a.sum()]


def test_f15_extended_scale(tmp_path: Path) -> None:
    images = volume(metal_hu=13_000.0)
    datasets = new_series(images, SPACING, "x", RescaleSlope=10, RescaleIntercept=-10_240)
    for dataset, image in zip(datasets, images, strict=True):
        dataset.PixelData = np.rint((image + 10_240) / 10).astype("<u2").tobytes()
    source = write_series(tmp_path / "in", datasets)
    assert np.abs(DicomScan(source).read(1).hu - images[1]).max() <= 5
    assert reduce(source, tmp_path / "out").code == 0
    after = DicomScan(tmp_path / "out/reduced").read(1)
    assert after.hu.max() == pytest.approx(13_000, abs=5)
    change = pixels(tmp_path / "out/difference")[1]
    assert np.abs(after.hu - DicomScan(source).read(1).hu - change).max() < 1


def test_f13_padding_that_uses_bits_no_pixel_has(tmp_path: Path) -> None:
    """63536 in 16 bits where pixels have 12: what GE scanners wrote."""
    datasets = new_series(volume((True, True)), SPACING, "x")
    outside = np.hypot(*(np.mgrid[:SIZE, :SIZE] - SIZE / 2)) > SIZE / 2 - 1
    for dataset in datasets:
        words = np.frombuffer(dataset.PixelData, "<u2").reshape(SIZE, SIZE).copy()
        words[outside] = 63536
        dataset.PixelData = words.tobytes()
        dataset.add_new("PixelPaddingValue", "US", 63536)
    source = write_series(tmp_path / "in", datasets)
    assert (DicomScan(source).read(0).hu[outside] == -1000).all()
    assert reduce(source, tmp_path / "out").code == 0
    after = pydicom.dcmread(tmp_path / "out/reduced/0001.dcm")
    assert (np.frombuffer(after.PixelData, "<u2").reshape(SIZE, SIZE)[outside] == 63536).all()


MR = {"SOPClassUID": "1.2.840.10008.5.1.4.1.1.4", "SeriesInstanceUID": "1.2.9"}
SCOUT = {"ImageType": ["ORIGINAL", "PRIMARY", "LOCALIZER"], "SeriesInstanceUID": "1.2.9"}


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        pytest.param(MR, "3 not CT images", id="F17 other modalities"),
        pytest.param(SCOUT, "3 scouts", id="F19 scouts"),
    ],
)
def test_other_images_are_skipped(tmp_path: Path, tags: dict[str, Any], words: str) -> None:
    source = series(tmp_path / "in")
    series(tmp_path / "in/other", **tags)
    done = reduce(source, tmp_path / "out")
    assert done.code == 4
    assert words in done.text


def test_f20_broken_slices_of_another_series_are_ignored(tmp_path: Path) -> None:
    source = series(tmp_path / "in")
    other = series(tmp_path / "in/other", (True, True), SeriesInstanceUID="1.2.3")
    for n, file in enumerate(sorted(other.iterdir())):
        dataset = pydicom.dcmread(file)
        dataset.SOPInstanceUID = dataset.file_meta.MediaStorageSOPInstanceUID = pydicom.uid.UID(f"1.2.3.{n + 1}")
        if n:
            del dataset.PixelSpacing
        dataset.save_as(file)
    assert reduce(source, tmp_path / "none").code == 3
    codes = sorted(reduce(source, tmp_path / str(n), "--series", n).code for n in (1, 2))
    assert codes == [0, 3]


@pytest.mark.parametrize(
    "other", [{"SeriesInstanceUID": "1.2.3"}, {"PatientID": "Somebody"}, {"FrameOfReferenceUID": "1.2.4"}]
)
def test_f20_two_series(tmp_path: Path, other: dict[str, str]) -> None:
    source = series(tmp_path / "in")
    datasets = new_series(volume((True,)), SPACING, "Secret", **other)
    datasets[0].SOPInstanceUID = datasets[0].file_meta.MediaStorageSOPInstanceUID = "1.2.3.4.5"
    write_series(tmp_path / "in/other", datasets)
    done = reduce(source, tmp_path / "out")
    assert done.code == 3
    assert "--series" in done.text
    assert "3 slices" in done.text
    assert "Secret" not in done.text
    assert "Somebody" not in done.text
    codes = [reduce(source, tmp_path / f"out{n}", "--series", n).code for n in (1, 2, 3)]
    assert codes == [0, 0, 3]


def test_f21_the_same_uid_twice(tmp_path: Path) -> None:
    source = series(tmp_path / "in")
    copy = source / "copy.dcm"
    copy.write_bytes((source / "IM0002.dcm").read_bytes())
    done = reduce(source, tmp_path / "out")
    assert done.code == 4
    assert "1 copies" in done.text
    other = pydicom.dcmread(copy)
    other.PixelData = bytes(len(other.PixelData))
    other.save_as(copy)
    refused(source, tmp_path / "b", "SOPInstanceUID")


def test_f22_missing_slices_and_any_order(tmp_path: Path) -> None:
    whole = series(tmp_path / "a", (False, True, True, True, True, False))
    part = series(tmp_path / "b", (False, True, True, True, True, False))
    (part / "IM0001.dcm").rename(part / "z.dcm")
    (part / "IM0005.dcm").unlink()
    assert reduce(whole, tmp_path / "x", "--segmentation", "grown").code == 0
    done = reduce(part, tmp_path / "y", "--segmentation", "grown")
    assert done.code == 0
    assert "slices are missing" in done.text
    numbers = [pydicom.dcmread(file).InstanceNumber for file in sorted((tmp_path / "y/reduced").iterdir())]
    assert numbers == [1, 2, 3, 4, 6]
    assert np.array_equal(pixels(tmp_path / "x/reduced")[:4], pixels(tmp_path / "y/reduced")[:4])


def test_f23_a_tilted_gantry(tmp_path: Path) -> None:
    angle = np.radians(18)
    plane = [1, 0, 0, 0, round(float(np.cos(angle)), 9), round(float(-np.sin(angle)), 9)]
    source = series(tmp_path / "in", ImageOrientationPatient=plane, GantryDetectorTilt=5)
    done = reduce(source, tmp_path / "out")
    assert done.code == 0
    assert "tilted by 18 degrees" in done.text
    assert "GantryDetectorTilt is 5 degrees" in done.text
    for name in ("ImageOrientationPatient", "ImagePositionPatient", "PixelSpacing", "GantryDetectorTilt"):
        before, after = (
            pydicom.dcmread(file)[name].value for file in (source / "IM0002.dcm", tmp_path / "out/reduced/0002.dcm")
        )
        assert before == after


def test_f24_other_planes(tmp_path: Path) -> None:
    coronal = series(tmp_path / "a", ImageOrientationPatient=[1, 0, 0, 0, 0, -1])
    refused(coronal, tmp_path, "not axial", "--accept-non-axial")
    assert reduce(coronal, tmp_path / "yes", "--accept-non-axial").code == 0
    on_the_side = series(tmp_path / "side", ImageOrientationPatient=[0, -1, 0, 1, 0, 0])
    assert reduce(on_the_side, tmp_path / "decubitus").code == 0


def test_f25_a_mirrored_series_stays_mirrored(tmp_path: Path) -> None:
    straight, mirrored = series(tmp_path / "a"), series(tmp_path / "b", hu=volume()[:, ::-1],
                                                        ImageOrientationPatient=[1, 0, 0, 0, -1, 0])  # fmt: skip
    assert all(
        reduce(source, tmp_path / out, "--segmentation", "grown").code == 0
        for source, out in ((straight, "x"), (mirrored, "y"))
    )
    before, after = (pixels(folder)[1].astype(int) for folder in (mirrored, tmp_path / "y/reduced"))
    assert np.corrcoef(before.ravel(), after.ravel())[0, 1] > 0.98
    assert np.corrcoef(before[::-1].ravel(), after.ravel())[0, 1] < 0.97
    assert pydicom.dcmread(tmp_path / "y/reduced/0002.dcm").ImageOrientationPatient == [1, 0, 0, 0, -1, 0]
    twin = pixels(tmp_path / "x/reduced")[1].astype(int)
    assert np.abs(twin[::-1] - after).mean() < 3


def test_f26_pixel_spacing(tmp_path: Path) -> None:
    source = series(tmp_path / "in", PixelSpacing=[1.6, 2.0])
    assert reduce(source, tmp_path / "out").code == 0
    before, after = pixels(source), pixels(tmp_path / "out/reduced")
    assert before.shape == after.shape
    assert not np.array_equal(before[1], after[1])
    assert np.array_equal(before[0], after[0])
    turned = series(tmp_path / "t", hu=volume().transpose(0, 2, 1), PixelSpacing=[2.0, 1.6])
    assert reduce(turned, tmp_path / "turned").code == 0
    other = pixels(tmp_path / "turned/reduced").transpose(0, 2, 1)
    assert np.abs(other.astype(int) - after).mean() < 3  # rows and columns are not mixed up


@pytest.mark.parametrize("shape", [(256, 256), (131, 127), (96, 130), (513, 511), (768, 768)])
def test_f27_any_size(tmp_path: Path, shape: tuple[int, int]) -> None:
    image = np.full((2, *shape), -1000.0, np.float32)
    image[:, :96, :96] = body()
    source = series(tmp_path / "in", hu=image)
    assert reduce(source, tmp_path / "out", "--segmentation", "grown").code == 0
    before, after = pixels(source), pixels(tmp_path / "out/reduced")
    assert after.shape == (2, *shape)
    assert np.corrcoef(before.ravel(), after.ravel())[0, 1] > 0.98


def test_f34_a_codec_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = series(tmp_path / "in", (True,))
    dataset = pydicom.dcmread(source / "IM0001.dcm")
    dataset.PixelData = pydicom.encaps.encapsulate([b"\xff\x4f\xff\x51 no picture at all"])
    dataset["PixelData"].VR = "OB"
    dataset.file_meta.TransferSyntaxUID = pydicom.uid.JPEG2000Lossless
    dataset.save_as(source / "IM0001.dcm")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    refused(source, tmp_path, "JPEG 2000", "pip install")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: True)
    refused(source, tmp_path, "pixels cannot be read")


def test_f35_lossy_sources(tmp_path: Path) -> None:
    names = ("LossyImageCompression", "LossyImageCompressionRatio", "LossyImageCompressionMethod")
    tags: dict[str, Any] = dict(zip(names, ("01", 8, "ISO_15444_1"), strict=True))
    source = series(tmp_path / "in", **tags)
    refused(source, tmp_path, "loss", "--accept-lossy")
    assert reduce(source, tmp_path / "out", "--accept-lossy").code == 0
    pytest.importorskip("jpeg_ls")
    datasets = new_series(volume((True,)), SPACING, "near")
    datasets[0].compress(JPEGLSNearLossless, jls_error=8, generate_instance_uid=False)
    for name in names:
        if name in datasets[0]:
            del datasets[0][name]
    near = write_series(tmp_path / "near", datasets)
    refused(near, tmp_path / "no", "loss")
    assert reduce(near, tmp_path / "yes", "--accept-lossy").code == 0
    made = pydicom.dcmread(tmp_path / "yes/reduced/0001.dcm")
    assert (made.LossyImageCompression, made.LossyImageCompressionMethod) == ("01", "ISO_14495_1")
    assert float(made.LossyImageCompressionRatio) > 2
    for kind in ("reduced", "difference"):
        dataset = pydicom.dcmread(tmp_path / f"out/{kind}/0002.dcm")
        assert dataset.LossyImageCompression == "01"
        assert (dataset.LossyImageCompressionRatio, dataset.LossyImageCompressionMethod) == (8, "ISO_15444_1")


@pytest.mark.parametrize(
    ("syntax", "needed"), [(RLELossless, "pydicom"), (JPEG2000Lossless, "openjpeg"), (JPEGLSLossless, "jpeg_ls")]
)
def test_compressed_series_are_read_and_written_plain(tmp_path: Path, syntax: Any, needed: str) -> None:
    pytest.importorskip(needed)
    plain, datasets = series(tmp_path / "a"), new_series(volume(), SPACING, "Secret")
    for dataset in datasets:
        dataset.compress(syntax, generate_instance_uid=False)
    packed = write_series(tmp_path / "b", datasets)
    assert reduce(plain, tmp_path / "x").code == reduce(packed, tmp_path / "y").code == 0
    assert np.array_equal(pixels(tmp_path / "x/reduced"), pixels(tmp_path / "y/reduced"))
    assert not pydicom.dcmread(tmp_path / "y/reduced/0001.dcm").file_meta.TransferSyntaxUID.is_compressed
