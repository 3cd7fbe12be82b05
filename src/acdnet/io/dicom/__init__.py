"""DICOM: reading with suspicion. Nothing here imports torch."""
