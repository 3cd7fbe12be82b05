"""The demonstration: two patients who do not exist, scanned, written as DICOM, reduced, scored and drawn."""
