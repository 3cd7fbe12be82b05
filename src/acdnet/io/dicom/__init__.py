"""DICOM: files that are not trusted. Nothing here imports torch."""
