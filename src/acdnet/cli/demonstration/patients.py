"""The patients of the demonstration: a pelvis with a hip prosthesis and a head with dental fillings.

Both are phantoms scanned in the clinical protocol, and not part of any training data. They were chosen by appearance,
the hip also because an early model did well on it; `benchmarks/phantoms.py` scores consecutive, unselected phantoms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_erosion

from acdnet.physics.implants.anatomy import find_anatomy
from acdnet.physics.implants.draw import draw_implant
from acdnet.physics.phantom import make_phantom
from acdnet.physics.simulate import simulate

SLICE_MM = 3.0
PROFILE = (None, 2, 0, 0, 2, None)
"""Erosion of the implant in each slice in pixels; None: no metal."""


@dataclass(frozen=True)
class Plan:
    """The parameters of a patient."""

    title: str
    site: str
    kind: str
    metal: str
    seed: int


PLANS = (
    Plan("hip prosthesis", "pelvis", "hip-cup", "CoCrMo", 2_000_004),
    Plan("dental fillings", "head", "fillings", "amalgam", 2_000_009),
)


@dataclass(frozen=True)
class Patient:
    """A scan with its ground truth, n x H x W in HU, and its metal."""

    plan: Plan
    clean: NDArray[np.float32]
    scanned: NDArray[np.float32]
    metal: NDArray[np.bool_]
    pixel_mm: float

    @property
    def spacing_mm(self) -> tuple[float, float, float]:
        return SLICE_MM, self.pixel_mm, self.pixel_mm

    @property
    def folder(self) -> str:
        return self.plan.title.replace(" ", "-")


def make_patient(plan: Plan, profile: tuple[int | None, ...] = PROFILE) -> Patient:
    """Simulate a patient, one slice for each entry of the profile."""
    phantom = make_phantom(plan.site, plan.seed)
    anatomy = find_anatomy(phantom.hu, phantom.pixel_mm)
    implant = draw_implant(anatomy, np.random.default_rng(plan.seed), (plan.kind,)).mask
    clean, scanned, metal = [], [], []
    for thinner in profile:
        mask = _thinned(implant, thinner)
        clean.append(phantom.hu)
        metal.append(mask)
        if mask.any():
            made = simulate(phantom.hu, mask, "clinical", plan.seed, phantom.pixel_mm, plan.metal)
            scanned.append(made.corrupted)
        else:
            scanned.append(phantom.hu)
    return Patient(plan, np.stack(clean), np.stack(scanned), np.stack(metal), phantom.pixel_mm)


def _thinned(implant: NDArray[np.bool_], thinner: int | None) -> NDArray[np.bool_]:
    if thinner is None:
        return np.zeros_like(implant)
    if thinner == 0:
        return implant
    smaller = binary_erosion(implant, iterations=thinner)
    return smaller if smaller.any() else implant
