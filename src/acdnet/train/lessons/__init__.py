"""What a run can teach: each kind of network with its examples, its loss and the way it is scored."""
