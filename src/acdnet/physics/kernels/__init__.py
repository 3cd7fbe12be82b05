"""The inner loops of the projectors."""
