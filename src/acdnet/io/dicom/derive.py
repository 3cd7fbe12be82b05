"""Derive the DICOM object of a reduced slice from its source: new identity, same patient, study and geometry.

The tags of a derived image state its source, how it was made, and that it is for research only. All other elements
keep their bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet import __version__
from acdnet.io.dicom.pixels import LOSSY_METHODS, is_lossy
from acdnet.io.dicom.tags import EXPLICIT, IMPLICIT, make_uid
from acdnet.io.scan import DIFFERENCE, REDUCED, Provenance
from acdnet.io.slices import Image

MAX_LO, MAX_ST, MAX_IS = 64, 1024, 2**31 - 1
"""Limits of the DICOM value representations LO and ST in characters, and of IS."""
GRAPHICS = (0x5000, 0x6000)
"""Groups of curves and overlays."""
SERIES_OFFSET = 1000
"""The series number is this plus twice that of the source."""
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
"""Tags that describe the pixels or the encoding of the source."""
MAR_SEQUENCE, MAR_APPLIED, MAR_ALGORITHM = 0x00189390, 0x00189391, 0x00189392
"""Metal Artifact Reduction Macro of DICOM 2026b (CP-2575), which pydicom does not know by name."""
PIXEL_VALUE_TAGS = ("PixelPaddingValue", "PixelPaddingRangeLimit", "VOILUTSequence", "WindowCenterWidthExplanation")
"""Tags without meaning for a difference."""


@dataclass(frozen=True)
class Origin:
    """Tags of the source slice, saved before they are changed."""

    uid: str
    series_uid: str
    series_number: Any
    description: str
    equipment: tuple[Any, ...]
    lossy: tuple[str, ...]
    """Tags of lossy compression: 00, or 01 with ratio and method."""
    content: str
    """Hash of the file."""
    mar: tuple[Any, ...]
    """What the source says about metal artifact reduction by others."""

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
            _mar_items(source),
        )


def derive(dataset: Any, origin: Origin, kind: str, how: Provenance, applied: bool = True) -> None:
    """Turn a source data set into a reduced or difference one, except its pixels; `applied`: the slice was reduced."""
    _drop(dataset, how.keep_private)
    reference = _item(
        ReferencedSOPClassUID=dataset.SOPClassUID,
        ReferencedSOPInstanceUID=origin.uid,
        SpatialLocationsPreserved="YES",
        PurposeOfReferenceCodeSequence=[_code("121322", "Source image for image processing operation")],
    )
    dataset.SourceImageSequence = [reference]
    dataset.SOPInstanceUID = make_uid(origin.uid, origin.content, how.identity, kind)
    dataset.SeriesInstanceUID = make_uid(origin.series_uid, how.identity, kind, "series")
    dataset.SeriesNumber = _series_number(origin.series_number) + (kind == DIFFERENCE)
    dataset.SeriesDescription = _series_description(origin.description, kind)
    dataset.ImageType = ["DERIVED", "SECONDARY", "AXIAL"]
    dataset.DerivationDescription = how.description[:MAX_ST]
    if kind == DIFFERENCE:
        dataset.DerivationCodeSequence = [_code("113062", "Pixel by pixel subtraction")]
    dataset.ContributingEquipmentSequence = [*origin.equipment, _equipment(how)]
    ours = (_mar_item(how, applied),) if applied or not origin.mar else ()
    dataset.add_new(MAR_SEQUENCE, "SQ", [*origin.mar, *ours])
    when = _local(how.created, dataset.get("TimezoneOffsetFromUTC"))
    dataset.InstanceCreationDate = dataset.ContentDate = when[:8]
    dataset.InstanceCreationTime = dataset.ContentTime = when[8:]
    dataset.LossyImageCompression, *more = origin.lossy
    if more:
        dataset.LossyImageCompressionRatio, dataset.LossyImageCompressionMethod = more
    _set_meta(dataset)


def set_pixels(target: Any, stored: NDArray[Any] | bytes) -> None:
    """Set the pixels of a data set in the type given by its tags."""
    if not isinstance(stored, bytes):
        bits, signed = int(target.BitsAllocated), int(target.PixelRepresentation)
        kind = np.dtype(f"{'i' if signed else 'u'}{bits // 8}").newbyteorder("<")
        stored = stored.astype(kind).tobytes()
    target.PixelData = stored + b"\0" * (len(stored) % 2)
    target["PixelData"].VR = "OW" if int(target.BitsAllocated) > 8 else "OB"


def set_difference(target: Any, change: Image) -> None:
    """Set the pixels of a data set to a difference in HU: signed, slope 1."""
    for name in PIXEL_VALUE_TAGS:
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
    uncompressed = int(source.Rows) * int(source.Columns) * int(source.BitsAllocated) / 8
    syntax = str(source.file_meta.TransferSyntaxUID)
    return (
        "01",
        ratio or f"{uncompressed / max(1, len(source.PixelData)):.3g}",
        method or LOSSY_METHODS.get(syntax, "ISO_10918_1"),
    )


def _local(created: str, offset: Any) -> str:
    """Convert UTC to the time zone of the data set, or to local time if it has none."""
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
    """Keep the transfer syntax of an uncompressed source; otherwise use explicit little-endian."""
    syntax = IMPLICIT if str(target.file_meta.TransferSyntaxUID) == IMPLICIT else EXPLICIT
    target.file_meta.TransferSyntaxUID = syntax
    target.file_meta.MediaStorageSOPInstanceUID = target.SOPInstanceUID
    target.file_meta.MediaStorageSOPClassUID = target.SOPClassUID
    for name in ("ImplementationClassUID", "ImplementationVersionName", "SourceApplicationEntityTitle"):
        if name in target.file_meta:
            del target.file_meta[name]


def _is_sequence(source: Any, tag: Any) -> bool:
    """Return whether a tag is a sequence, without parsing it."""
    from pydicom.datadict import dictionary_VR

    vr = source.get_item(tag).VR
    try:
        return bool((vr or dictionary_VR(tag)) == "SQ")
    except KeyError:
        return False


def _series_number(value: Any) -> int:
    try:
        number = SERIES_OFFSET + 2 * max(0, int(value))
    except (TypeError, ValueError):
        return SERIES_OFFSET
    return number if number < MAX_IS else SERIES_OFFSET


def _plain_description(source: Any) -> str:
    """Return the printable ASCII of the description; empty if it cannot be read."""
    try:
        old = str(source.get("SeriesDescription") or "").replace("\\", "/")
    except Exception:
        return ""
    return "".join(letter for letter in old if letter.isprintable() and letter.isascii())


def _series_description(old: str, kind: str) -> str:
    """Append the kind to the old description, truncated to fit."""
    ending = "MAR research" if kind == REDUCED else "MAR difference research"
    return f"{old[: MAX_LO - len(ending) - 1].strip()} {ending}".strip()


def _equipment(how: Provenance) -> Any:
    return _item(
        PurposeOfReferenceCodeSequence=[_code("109102", "Processing Equipment")],
        Manufacturer="acdnet (open source, research use only)",
        ManufacturerModelName="acdnet",
        SoftwareVersions=__version__,
        ContributionDateTime=how.created,
        ContributionDescription=how.description[:MAX_ST],
    )


def _mar_items(source: Any) -> tuple[Any, ...]:
    """Return the items of the source; in files without VRs, pydicom cannot tell that they are a sequence."""
    element = source.get(MAR_SEQUENCE)
    return tuple(element.value) if element is not None and element.VR == "SQ" else ()


def _mar_item(how: Provenance, applied: bool) -> Any:
    """Return whether and by what the metal artifacts of a slice were reduced."""
    item = _item()
    item.add_new(MAR_APPLIED, "CS", "YES" if applied else "NO")
    if applied:
        network = _code("123110", "Artificial Intelligence")
        family = network if how.learned else _code("SINOGRAM", "Correction of the sinogram", "99ACDNET")
        algorithm = _item(
            AlgorithmFamilyCodeSequence=[family],
            AlgorithmName=f"acdnet, method {how.method}"[:MAX_LO],
            AlgorithmVersion=__version__,
            AlgorithmParameters=how.description,
            AlgorithmSource="acdnet (open source)",
        )
        item.add_new(MAR_ALGORITHM, "SQ", [algorithm])
    return item


def _code(value: str, meaning: str, scheme: str = "DCM") -> Any:
    return _item(CodeValue=value, CodingSchemeDesignator=scheme, CodeMeaning=meaning)


def _item(**tags: Any) -> Any:
    from pydicom.dataset import Dataset

    item = Dataset()
    for name, value in tags.items():
        setattr(item, name, value)
    return item
