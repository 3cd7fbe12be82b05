"""What a derived series carries."""

from pathlib import Path

import pydicom

from tests.reduction.make import reduce, series


def test_f40_tags_of_a_derived_series(tmp_path: Path) -> None:
    source = series(tmp_path / "in", PatientIdentityRemoved="YES", SeriesNumber=4)
    assert reduce(source, tmp_path / "out").code == 0
    for kind in ("reduced", "difference"):
        for n in (1, 2, 3):
            old, new = (pydicom.dcmread(p) for p in (source / f"IM{n:04d}.dcm", tmp_path / f"out/{kind}/{n:04d}.dcm"))
            assert new.SOPInstanceUID != old.SOPInstanceUID
            assert new.file_meta.MediaStorageSOPInstanceUID == new.SOPInstanceUID
            assert new.SeriesInstanceUID != old.SeriesInstanceUID
            assert list(new.ImageType) == ["DERIVED", "SECONDARY", "AXIAL"]
            assert new.SeriesDescription.endswith("research")
            assert "Research use only" in new.DerivationDescription
            (item,) = new.SourceImageSequence
            assert item.ReferencedSOPInstanceUID == old.SOPInstanceUID
            assert item.PurposeOfReferenceCodeSequence[0].CodeValue == "121322"
            assert new.ContributingEquipmentSequence[-1].PurposeOfReferenceCodeSequence[0].CodeValue == "109102"
            assert new.LossyImageCompression == "00"
            for name in (
                *("PatientID", "PatientName", "StudyInstanceUID", "FrameOfReferenceUID", "ImagePositionPatient"),
                *("ImageOrientationPatient", "PixelSpacing", "SliceThickness", "InstanceNumber", "KVP"),
                *("ConvolutionKernel", "SpecificCharacterSet", "PatientIdentityRemoved"),
            ):
                assert new[name].value == old[name].value, name
    series_uids = {pydicom.dcmread(p).SeriesInstanceUID for p in (tmp_path / "out").rglob("*.dcm")}
    assert len(series_uids) == 2
    assert "use the original" in reduce(tmp_path / "out/reduced", tmp_path / "again").text
    assert "difference series" in reduce(tmp_path / "out/difference", tmp_path / "no").text


def test_f40_odd_but_legal_sources(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True,), SeriesNumber=1_500_000_000, TimezoneOffsetFromUTC="+0900",
                    ConvolutionKernel=["Br40d", "[/3]"])  # fmt: skip
    file = source / "IM0001.dcm"
    dataset = pydicom.dcmread(file)
    item = pydicom.Dataset()
    item.private_block(0x0099, "ACME", create=True).add_new(0x01, "LO", "hidden")
    dataset.RequestAttributesSequence = [item]
    dataset.save_as(file)
    done = reduce(source, tmp_path / "out")
    assert done.code == 0
    assert "kernel Br40d/[/3]" in done.text
    after = pydicom.dcmread(tmp_path / "out/reduced/0001.dcm")
    assert after.SeriesNumber == 1000
    assert b"hidden" not in (tmp_path / "out/reduced/0001.dcm").read_bytes()
    from datetime import UTC, datetime, timedelta

    there = datetime.strptime(after.ContentDate + after.ContentTime, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    assert abs(there - datetime.now(UTC) - timedelta(hours=9)) < timedelta(minutes=5)


def test_private_elements_and_overlays(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True,))
    dataset = pydicom.dcmread(source / "IM0001.dcm")
    dataset.private_block(0x0099, "ACME", create=True).add_new(0x01, "LO", "hidden")
    dataset.add_new(0x60000010, "US", 8)
    dataset.save_as(source / "IM0001.dcm")
    assert reduce(source, tmp_path / "a").code == reduce(source, tmp_path / "b", "--keep-private").code == 0
    without, with_ = (pydicom.dcmread(tmp_path / f"{name}/reduced/0001.dcm") for name in "ab")
    assert (0x0099, 0x1001) not in without
    assert with_[0x0099, 0x1001].value == "hidden"
    assert 0x60000010 not in without
