"""Training: patches and batches, the loss of Eq. (15), optimisers, checkpoints and validation."""
