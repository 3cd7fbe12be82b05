"""Implants in three dimensions: solids, the anatomy they need, makers by body part, and their cut by slices."""
