"""Make the DICOM object of a reduced slice from that of its source: new identity, same patient, study and geometry.

What the standard asks of a derived image is said tag by tag: where it comes from, what made it, that it is research.
Elements that are not touched keep their bytes, whatever they hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.dicom.pixels import is_lossy

IMPLICIT, EXPLICIT = "1.2.840.10008.1.2", "1.2.840.10008.1.2.1"
LONGEST_LO, LONGEST_ST = 64, 1024
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


def series_uid(source: str, how: Derived) -> str:
    """Return the UID of the new series: the same source made the same way has the same one."""
    return _uid(source, how.identity, how.kind, "series")


def derive(source: Any, pixel_hash: str, how: Derived) -> Any:
    """Turn the data set of a source slice into that of the derived one; its pixels are set by `set_pixels`."""
    _drop(source, how.keep_private)
    reference = _item(
        ReferencedSOPClassUID=source.SOPClassUID,
        ReferencedSOPInstanceUID=source.SOPInstanceUID,
        SpatialLocationsPreserved="YES",
        PurposeOfReferenceCodeSequence=[_code("121322", "Source image for image processing operation")],
    )
    lossy = is_lossy(source)
    source.SourceImageSequence = [reference]
    source.SOPInstanceUID = _uid(str(source.SOPInstanceUID), pixel_hash, how.identity, how.kind)
    source.SeriesInstanceUID = series_uid(str(source.SeriesInstanceUID), how)
    source.SeriesNumber = _series_number(source.get("SeriesNumber")) + (how.kind == "difference")
    source.SeriesDescription = _series_description(source, how.kind)
    source.ImageType = ["DERIVED", "SECONDARY", "AXIAL"]
    source.DerivationDescription = how.description[:LONGEST_ST]
    if how.kind == "difference":
        source.DerivationCodeSequence = [_code("113062", "Pixel by pixel subtraction")]
    source.ContributingEquipmentSequence = [*(source.get("ContributingEquipmentSequence") or ()), _equipment(how)]
    source.InstanceCreationDate = source.ContentDate = how.created[:8]
    source.InstanceCreationTime = source.ContentTime = how.created[8:]
    source.LossyImageCompression = "01" if lossy else "00"
    _set_meta(source)
    return source


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


def _drop(source: Any, keep_private: bool) -> None:
    for tag in list(source.keys()):
        if (tag.is_private and not keep_private) or 0x6000 <= tag.group <= 0x60FF:
            del source[tag]
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


def _series_number(value: Any) -> int:
    try:
        return FIRST_SERIES + 2 * max(0, int(value))
    except (TypeError, ValueError):
        return FIRST_SERIES


def _series_description(source: Any, kind: str) -> str:
    """Keep what fits of the old description; one that cannot be read or written again is left out."""
    ending = "MAR research" if kind == "reduced" else "MAR difference research"
    try:
        old = str(source.get("SeriesDescription") or "").replace("\\", "/")
        old = "".join(letter for letter in old if letter.isprintable() and letter.isascii())
    except Exception:
        old = ""
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
