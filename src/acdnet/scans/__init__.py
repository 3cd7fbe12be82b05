"""Scans as files have them: DICOM series, NIfTI volumes, PNG pictures, arrays. Slices out, changed slices back in."""
