"""Rays, materials, implants and phantoms: the simulation of metal artifacts."""
