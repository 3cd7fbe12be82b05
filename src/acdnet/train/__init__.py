"""Learning the weights: the loss of Eq. (15) and what goes with it."""
