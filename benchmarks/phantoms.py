"""Score LI and a model on consecutive phantoms, not selected: `python -m benchmarks.phantoms [--method NAME]`.

Every patient is a slice as `reduce` receives it: 12 bits, and the metal has to be found. RMSE of soft tissue in HU,
without the true metal and the metal that was found.
"""

from __future__ import annotations

import statistics

import numpy as np

import acdnet
from acdnet.cli.demonstration.patients import PLANS, Plan, make_patient
from acdnet.evaluate.metrics import hu_rmse, regions
from acdnet.units import TWELVE_BITS_HU
from benchmarks.harness import Table, main

FIRST, PATIENTS = 3_000_000, 12
COLUMNS = ("patients", "as scanned", "LI", "ACDNet", "LI, true metal", "ACDNet, true metal", "ACDNet better than LI")


def measure(method: str = "acdnet", patients: int = PATIENTS) -> Table:
    """Return a row for each kind of patient of the demonstration: medians, and how often the model beats LI."""
    rows = []
    for plan in PLANS:
        scores = [score(Plan("", plan.site, plan.kind, plan.metal, FIRST + n), method) for n in range(patients)]
        medians = [f"{statistics.median(column):.0f} HU" for column in zip(*scores, strict=True)]
        better = sum(network < li for _, li, network, *_ in scores)
        rows.append([plan.title, *medians, f"{better} of {patients}"])
    return Table(COLUMNS, rows)


def score(plan: Plan, method: str) -> list[float]:
    """Return the errors of one patient: as scanned, LI, network; LI and network with the true metal."""
    patient = make_patient(plan, profile=(0,))
    scanned, clean, true = np.clip(patient.scanned[0], -1024, TWELVE_BITS_HU), patient.clean[0], patient.metal[0]
    done = [
        acdnet.reduce(scanned, patient.spacing_mm[1:], name, mask=mask)
        for mask in (None, true)
        for name in ("li", method)
    ]
    soft = regions(clean, true | done[0].mask)["soft"]
    return [hu_rmse(image, clean, soft) for image in (scanned, *(one.hu for one in done))]


if __name__ == "__main__":
    main(measure)
