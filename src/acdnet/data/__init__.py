"""Sources of clean slices, and data sets of simulated pairs."""
