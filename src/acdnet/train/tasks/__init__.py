"""Tasks: the examples and the loss of each kind of network."""
