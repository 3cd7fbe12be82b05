"""The product: a scan in, the metal found, the artifacts reduced, everything checked, a scan out."""
