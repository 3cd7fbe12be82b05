"""The kinds of implants: body regions, metals and range of scales. This module loads quickly, for help texts."""

from __future__ import annotations

from dataclasses import dataclass

ALLOYS = ("Ti6Al4V", "titanium", "CoCrMo", "steel316L")
TRUNK = ("thorax", "abdomen", "pelvis")


@dataclass(frozen=True)
class Kind:
    """A kind of implant: the regions of the body where it occurs, its metals, and the range of its scale."""

    regions: tuple[str, ...]
    metals: tuple[str, ...]
    scales: tuple[float, float] = (0.7, 1.8)


KINDS = {
    "hip-stem": Kind(("pelvis",), ("CoCrMo", "Ti6Al4V", "steel316L"), (0.6, 2.0)),
    "hip-cup": Kind(("pelvis",), ("CoCrMo", "Ti6Al4V"), (0.6, 2.0)),
    "spine-screws": Kind(TRUNK, ("Ti6Al4V", "titanium", "steel316L"), (0.6, 1.8)),
    "spine-rods": Kind(TRUNK, ("Ti6Al4V", "CoCrMo", "titanium"), (0.6, 1.8)),
    "fillings": Kind(("head",), ("amalgam", "gold", "CoCrMo"), (0.6, 1.6)),
    "clips": Kind(("head", *TRUNK), ("titanium", "steel316L")),
    "plate": Kind(("head", *TRUNK), ALLOYS, (0.6, 2.0)),
    "sternal-wires": Kind(("thorax",), ("steel316L",)),
    "leads": Kind(("thorax",), ("steel316L", "CoCrMo")),
    "pacemaker": Kind(("thorax",), ("titanium",), (0.6, 2.0)),
    "nail": Kind(("pelvis",), ("Ti6Al4V", "steel316L"), (0.6, 2.0)),
    "port": Kind(("thorax",), ("titanium", "steel316L"), (0.6, 2.0)),
    "coil": Kind(("head", "abdomen"), ("gold", "steel316L"), (0.6, 2.5)),
}
"""All implants by name; each is drawn only into slices of its regions."""
