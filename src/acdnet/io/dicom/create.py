"""Create a DICOM CT series from a volume, for demonstrations and tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.io.dicom.tags import CT_STORAGE, EXPLICIT, make_uid
from acdnet.units import TWELVE_BITS_HU

INTERCEPT = -1024


def new_series(volume_hu: NDArray[Any], spacing_mm: tuple[float, float, float], name: str, **tags: Any) -> list[Any]:
    """Return the data sets of a volume, n x H x W: 12 bits, -1024 to 3071 HU, slices from inferior to superior.

    Patient, study and UIDs derive from `name`. `tags` override the defaults; None omits a tag.
    """
    return [new_slice(hu, spacing_mm, name, n, **tags) for n, hu in enumerate(volume_hu)]


def write_series(folder: Path, datasets: list[Any]) -> Path:
    """Write data sets into a new folder, one file each."""
    import pydicom

    folder.mkdir(parents=True)
    for n, dataset in enumerate(datasets, 1):
        pydicom.dcmwrite(folder / f"IM{n:04d}.dcm", dataset, enforce_file_format=True)
    return folder


def new_slice(hu: NDArray[Any], spacing_mm: tuple[float, float, float], name: str, number: int, **tags: Any) -> Any:
    """Return the data set of one slice."""
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import UID

    step, rows_mm, columns_mm = spacing_mm
    rows, columns = hu.shape
    stored = np.clip(np.rint(hu) - INTERCEPT, 0, TWELVE_BITS_HU - INTERCEPT).astype("<u2")
    known: dict[str, Any] = {
        "SpecificCharacterSet": "ISO_IR 192",
        "ImageType": ["ORIGINAL", "PRIMARY", "AXIAL"],
        "SOPClassUID": CT_STORAGE,
        "SOPInstanceUID": make_uid("acdnet", name, "instance", str(number)),
        "StudyDate": "20250101",
        "SeriesDate": "20250101",
        "AcquisitionDate": "20250101",
        "ContentDate": "20250101",
        "StudyTime": "120000",
        "ContentTime": "120000",
        "AccessionNumber": "",
        "Modality": "CT",
        "Manufacturer": "acdnet simulation",
        "ReferringPhysicianName": "",
        "StudyDescription": "Simulated",
        "SeriesDescription": "Axial",
        "PatientName": f"Phantom^{name}",
        "PatientID": name,
        "PatientBirthDate": "",
        "PatientSex": "O",
        "KVP": 120,
        "SliceThickness": step,
        "ConvolutionKernel": "STANDARD",
        "PatientPosition": "HFS",
        "Laterality": "",
        "StudyInstanceUID": make_uid("acdnet", name, "study"),
        "SeriesInstanceUID": make_uid("acdnet", name, "series"),
        "FrameOfReferenceUID": make_uid("acdnet", name, "frame"),
        "PositionReferenceIndicator": "",
        "StudyID": "1",
        "SeriesNumber": 2,
        "AcquisitionNumber": 1,
        "InstanceNumber": number + 1,
        "ImagePositionPatient": _decimals(-columns_mm * (columns - 1) / 2, -rows_mm * (rows - 1) / 2, step * number),
        "ImageOrientationPatient": [1, 0, 0, 0, 1, 0],
        "SamplesPerPixel": 1,
        "PhotometricInterpretation": "MONOCHROME2",
        "Rows": rows,
        "Columns": columns,
        "PixelSpacing": _decimals(rows_mm, columns_mm),
        "BitsAllocated": 16,
        "BitsStored": 12,
        "HighBit": 11,
        "PixelRepresentation": 0,
        "WindowCenter": 40,
        "WindowWidth": 400,
        "RescaleIntercept": INTERCEPT,
        "RescaleSlope": 1,
        "RescaleType": "HU",
        "PixelData": stored.tobytes(),
    }
    meta = FileMetaDataset()
    known |= tags
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = known["SOPClassUID"], known["SOPInstanceUID"]
    meta.TransferSyntaxUID = UID(EXPLICIT)
    dataset = FileDataset("", {}, file_meta=meta, preamble=b"\0" * 128)
    for tag, value in known.items():
        if value is not None:
            setattr(dataset, tag, value)
    return dataset


def _decimals(*values: float) -> list[str]:
    """Format numbers as DICOM decimal strings of at most 16 characters."""
    return [f"{value:.8g}"[:16] for value in values]
