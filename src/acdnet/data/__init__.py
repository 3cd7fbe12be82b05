"""Slices in, pairs out: where slices come from, and how simulated pairs are kept."""
