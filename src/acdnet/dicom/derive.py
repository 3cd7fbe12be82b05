"""Make the DICOM object of a reduced slice from that of its source: new identity, same patient, study and geometry.

What the standard asks of a derived image is said tag by tag: where it comes from, what made it, that it is research.
Elements that are not touched keep their bytes, whatever they hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.dicom.pixels import LOSSY, is_lossy

IMPLICIT, EXPLICIT = "1.2.840.10008.1.2", "1.2.840.10008.1.2.1"
LONGEST_LO, LONGEST_ST, LARGEST_IS = 64, 1024, 2**31 - 1
GRAPHICS = (0x5000, 0x6000)
"""Groups of curves and overlays."""
FIRST_SERIES = 1000
"""Added to the series number of the source."""
DROPPED = (
    "SmallestImagePixelValue",
    "LargestImagePixelValue",
    "SmallestPixelValueInSeries",
    "LargestPixelValueInSeries",
    "IconImageSequence",
    "MACParametersSequence",
    "DigitalSignaturesSequence",
    "ExtendedOffsetTable",
    "ExtendedOffsetTableLengths",
    "DataSetTrailingPadding",
    "EncapsulatedPixelDataValueTotalLength",
    "InstanceCreatorUID",
)
"""What was true of the pixels or the bytes of the source only."""
OF_THE_PIXELS = ("PixelPaddingValue", "PixelPaddingRangeLimit", "VOILUTSequence", "WindowCenterWidthExplanation")
"""What means nothing for a difference."""


@dataclass(frozen=True)
class Derived:
    """How a slice was made."""

    kind: str
    """reduced or difference."""
    description: str
    identity: str
    created: str
    """YYYYMMDDHHMMSS."""
    version: str
    keep_private: bool = False


@dataclass(frozen=True)
class Origin:
    """What a source slice says of itself, before anything is changed."""

    uid: str
    series_uid: str
    series_number: Any
    description: str
    equipment: tuple[Any, ...]
    lossy: tuple[str, ...]
    """The tags of lossy compression: 00, or 01 with ratio and method."""
    content: str
    """The hash of its file."""

    @classmethod
    def of(cls, source: Any, content: str) -> Origin:
        return cls(
            str(source.SOPInstanceUID),
            str(source.SeriesInstanceUID),
            source.get("SeriesNumber"),
            _plain_description(source),
            tuple(source.get("ContributingEquipmentSequence") or ()),
            _lossy_tags(source),
            content,
        )


def derive(dataset: Any, origin: Origin, how: Derived) -> None:
    """Turn the data set of a source slice into that of a derived one; its pixels are set by `set_pixels`."""
    _drop(dataset, how.keep_private)
    reference = _item(
        ReferencedSOPClassUID=dataset.SOPClassUID,
        ReferencedSOPInstanceUID=origin.uid,
        SpatialLocationsPreserved="YES",
        PurposeOfReferenceCodeSequence=[_code("121322", "Source image for image processing operation")],
    )
    dataset.SourceImageSequence = [reference]
    dataset.SOPInstanceUID = _uid(origin.uid, origin.content, how.identity, how.kind)
    dataset.SeriesInstanceUID = _uid(origin.series_uid, how.identity, how.kind, "series")
    dataset.SeriesNumber = _series_number(origin.series_number) + (how.kind == "difference")
    dataset.SeriesDescription = _series_description(origin.description, how.kind)
    dataset.ImageType = ["DERIVED", "SECONDARY", "AXIAL"]
    dataset.DerivationDescription = how.description[:LONGEST_ST]
    if how.kind == "difference":
        dataset.DerivationCodeSequence = [_code("113062", "Pixel by pixel subtraction")]
    dataset.ContributingEquipmentSequence = [*origin.equipment, _equipment(how)]
    when = _local(how.created, dataset.get("TimezoneOffsetFromUTC"))
    dataset.InstanceCreationDate = dataset.ContentDate = when[:8]
    dataset.InstanceCreationTime = dataset.ContentTime = when[8:]
    dataset.LossyImageCompression, *more = origin.lossy
    if more:
        dataset.LossyImageCompressionRatio, dataset.LossyImageCompressionMethod = more
    _set_meta(dataset)


def set_pixels(target: Any, stored: NDArray[Any] | bytes) -> None:
    """Put stored numbers into a data set, as its bits and sign say."""
    if not isinstance(stored, bytes):
        bits, signed = int(target.BitsAllocated), int(target.PixelRepresentation)
        kind = np.dtype(f"{'i' if signed else 'u'}{bits // 8}").newbyteorder("<")
        stored = stored.astype(kind).tobytes()
    target.PixelData = stored + b"\0" * (len(stored) % 2)
    target["PixelData"].VR = "OW" if int(target.BitsAllocated) > 8 else "OB"


def set_difference(target: Any, change: NDArray[np.float32]) -> None:
    """Put a difference in HU into a data set: signed, slope 1."""
    for name in OF_THE_PIXELS:
        if name in target:
            del target[name]
    target.BitsAllocated, target.BitsStored, target.HighBit, target.PixelRepresentation = 16, 16, 15, 1
    target.RescaleSlope, target.RescaleIntercept, target.RescaleType = 1, 0, "HU"
    target.WindowCenter, target.WindowWidth = 0, 400
    target.PhotometricInterpretation = "MONOCHROME2"
    set_pixels(target, np.clip(np.rint(change), -32768, 32767))


def _lossy_tags(source: Any) -> tuple[str, ...]:
    if not is_lossy(source):
        return ("00",)
    ratio, method = (source.get(f"LossyImageCompression{name}") for name in ("Ratio", "Method"))
    if ratio and method:
        return "01", ratio, method
    plain = int(source.Rows) * int(source.Columns) * int(source.BitsAllocated) / 8
    syntax = str(source.file_meta.TransferSyntaxUID)
    return "01", ratio or f"{plain / max(1, len(source.PixelData)):.3g}", method or LOSSY.get(syntax, "ISO_10918_1")


def _local(created: str, offset: Any) -> str:
    """Turn a time in UTC into that of the data set's own zone, or of this place where it names none."""
    when = datetime.strptime(created, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    try:
        zone: tzinfo | None = datetime.strptime(str(offset), "%z").tzinfo if offset else None
    except ValueError:
        zone = None
    return when.astimezone(zone).strftime("%Y%m%d%H%M%S")


def _drop(source: Any, keep_private: bool) -> None:
    for tag in list(source.keys()):
        if (tag.is_private and not keep_private) or tag.group & 0xFF00 in GRAPHICS:
            del source[tag]
        elif not keep_private and _is_sequence(source, tag):
            for item in source[tag].value:
                _drop(item, keep_private)
    for name in DROPPED:
        if name in source:
            del source[name]


def _set_meta(target: Any) -> None:
    """Write as the source was written, unless it was compressed or big-endian."""
    syntax = IMPLICIT if str(target.file_meta.TransferSyntaxUID) == IMPLICIT else EXPLICIT
    target.file_meta.TransferSyntaxUID = syntax
    target.file_meta.MediaStorageSOPInstanceUID = target.SOPInstanceUID
    target.file_meta.MediaStorageSOPClassUID = target.SOPClassUID
    for name in ("ImplementationClassUID", "ImplementationVersionName", "SourceApplicationEntityTitle"):
        if name in target.file_meta:
            del target.file_meta[name]


def _is_sequence(source: Any, tag: Any) -> bool:
    """Tell a sequence without reading it."""
    from pydicom.datadict import dictionary_VR

    vr = source.get_item(tag).VR
    try:
        return bool((vr or dictionary_VR(tag)) == "SQ")
    except KeyError:
        return False


def _series_number(value: Any) -> int:
    try:
        number = FIRST_SERIES + 2 * max(0, int(value))
    except (TypeError, ValueError):
        return FIRST_SERIES
    return number if number < LARGEST_IS else FIRST_SERIES


def _plain_description(source: Any) -> str:
    """Return the description in plain letters; one that cannot be read is left out."""
    try:
        old = str(source.get("SeriesDescription") or "").replace("\\", "/")
    except Exception:
        return ""
    return "".join(letter for letter in old if letter.isprintable() and letter.isascii())


def _series_description(old: str, kind: str) -> str:
    """Keep what fits of the old description."""
    ending = "MAR research" if kind == "reduced" else "MAR difference research"
    return f"{old[: LONGEST_LO - len(ending) - 1].strip()} {ending}".strip()


def _equipment(how: Derived) -> Any:
    return _item(
        PurposeOfReferenceCodeSequence=[_code("109102", "Processing Equipment")],
        Manufacturer="acdnet (open source, research use only)",
        ManufacturerModelName="acdnet",
        SoftwareVersions=how.version,
        ContributionDateTime=how.created,
        ContributionDescription=how.description[:LONGEST_ST],
    )


def _code(value: str, meaning: str) -> Any:
    return _item(CodeValue=value, CodingSchemeDesignator="DCM", CodeMeaning=meaning)


def _item(**tags: Any) -> Any:
    from pydicom.dataset import Dataset

    item = Dataset()
    for name, value in tags.items():
        setattr(item, name, value)
    return item


def _uid(*parts: str) -> str:
    from pydicom.uid import generate_uid

    return str(generate_uid(entropy_srcs=list(parts)))
