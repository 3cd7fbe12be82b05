"""Make DICOM files for tests."""

from pathlib import Path
from typing import Any

import numpy as np
import pydicom
from numpy.typing import NDArray
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian, generate_uid


def make_slice(hu: NDArray[Any], **tags: Any) -> FileDataset:
    """Return a CT slice with the given HU; a tag of None is left out."""
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = tags.get("SOPClassUID", CTImageStorage)
    meta.MediaStorageSOPInstanceUID = tags.get("SOPInstanceUID", generate_uid())
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    dataset = FileDataset("made.dcm", {}, file_meta=meta, preamble=b"\0" * 128)
    known: dict[str, Any] = {
        "SOPClassUID": CTImageStorage,
        "SOPInstanceUID": meta.MediaStorageSOPInstanceUID,
        "StudyInstanceUID": "1.2.3",
        "SeriesInstanceUID": "1.2.3.4",
        "Modality": "CT",
        "ImageType": ["ORIGINAL", "PRIMARY", "AXIAL"],
        "PatientID": "A1",
        "PatientName": "Doe^Jane",
        "Rows": hu.shape[0],
        "Columns": hu.shape[1],
        "PixelSpacing": [0.8, 0.8],
        "ImagePositionPatient": [0, 0, 0],
        "ImageOrientationPatient": [1, 0, 0, 0, 1, 0],
        "RescaleSlope": 1,
        "RescaleIntercept": -1024,
        "BitsAllocated": 16,
        "BitsStored": 16,
        "HighBit": 15,
        "PixelRepresentation": 0,
        "SamplesPerPixel": 1,
        "PhotometricInterpretation": "MONOCHROME2",
    }
    for name, value in (known | tags).items():
        if value is not None:
            setattr(dataset, name, value)
    if "PixelData" not in tags:
        dataset.PixelData = (np.asarray(hu, np.int32) + 1024).astype("<u2").tobytes()
    return dataset


def write_slice(path: Path, hu: NDArray[Any], **tags: Any) -> Path:
    """Write a CT slice."""
    pydicom.dcmwrite(path, make_slice(hu, **tags), enforce_file_format=True)
    return path
