"""Embedded data for trying the network out: phantoms made by formula, with the artifacts of a simple scanner."""
