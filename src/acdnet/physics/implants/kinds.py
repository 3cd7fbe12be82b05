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

LIMBS = ("hip", "thigh", "knee", "leg", "shoulder", "arm")
HEAD = ("jaw", "skull", "head")
EVERYWHERE = (*LIMBS, *HEAD, "neck", *TRUNK)
SPINE = ("thorax", "abdomen", "neck")
DENTAL = ("CoCrMo", "gold", "titanium")

SOLIDS = {
    "hip-stem": Kind(("hip", "thigh", "pelvis"), ("CoCrMo", "Ti6Al4V", "steel316L")),
    "hip-cup": Kind(("hip", "pelvis"), ("CoCrMo", "Ti6Al4V")),
    "resurfacing": Kind(("hip", "pelvis"), ("CoCrMo",)),
    "knee": Kind(("knee",), ("CoCrMo", "CoCrMo", "Ti6Al4V")),
    "shoulder": Kind(("shoulder",), ("CoCrMo", "Ti6Al4V")),
    "nail": Kind((*LIMBS, "pelvis"), ("Ti6Al4V", "Ti6Al4V", "steel316L")),
    "plate": Kind((*LIMBS, "pelvis"), ("titanium", "Ti6Al4V", "steel316L")),
    "cerclage": Kind(("hip", "thigh", "leg"), ("steel316L", "CoCrMo")),
    "screws": Kind((*LIMBS, "pelvis"), ("titanium", "steel316L")),
    "k-wires": Kind(("arm", "leg"), ("steel316L",)),
    "spine-screws": Kind(SPINE, ("Ti6Al4V", "titanium", "steel316L", "CoCrMo")),
    "cage": Kind(SPINE, ("titanium", "Ti6Al4V")),
    "neck-plate": Kind(("neck",), ("titanium", "Ti6Al4V")),
    "fillings": Kind(("jaw", "head"), ("amalgam", "amalgam", "gold", "CoCrMo")),
    "crowns": Kind(("jaw", "head"), DENTAL),
    "dental-implants": Kind(("jaw", "head"), ("titanium", "Ti6Al4V")),
    "brackets": Kind(("jaw", "head"), ("steel316L", "titanium")),
    "cochlear": Kind(("skull", "head"), ("titanium", "steel316L")),
    "aneurysm-clip": Kind(("skull", "head"), ("titanium", "CoCrMo")),
    "mini-plates": Kind(HEAD, ("titanium",)),
    "clips": Kind(EVERYWHERE, ("titanium", "steel316L")),
    "coil": Kind(("skull", "head", *TRUNK), ("gold", "steel316L")),
    "fiducials": Kind(TRUNK, ("gold",)),
    "sternal-wires": Kind(("thorax",), ("steel316L",)),
    "leads": Kind(("thorax", "shoulder"), ("steel316L", "CoCrMo")),
    "pacemaker": Kind(("thorax", "shoulder"), ("titanium",)),
    "port": Kind(("thorax", "shoulder"), ("titanium", "steel316L")),
}
"""All implants in three dimensions by name; each is put only into slices of its sites."""
