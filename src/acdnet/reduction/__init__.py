"""Reduce a scan: read it, detect the metal, reduce the artifacts, check every slice, write it."""
