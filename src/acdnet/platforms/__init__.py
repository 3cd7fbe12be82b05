"""One container for Mercure, XNAT and Flywheel: their settings, folders and descriptions."""
