"""Read and write scans: DICOM series, NIfTI volumes, 16-bit PNGs and arrays."""
