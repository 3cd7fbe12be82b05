"""The demonstration: two simulated patients, written as DICOM, reduced and scored."""
