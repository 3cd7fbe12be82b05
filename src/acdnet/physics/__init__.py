"""Rays, materials, implants and phantoms: how metal artifacts come about."""
