"""Score LI and a model on consecutive phantoms, none of them chosen: `python -m benchmarks.phantoms [--model NAME]`.

Every patient is a slice as `reduce` meets it: 12 bits, and the metal has to be found. RMSE of soft tissue in HU,
outside what is metal or was taken for it.
"""

from __future__ import annotations

import argparse
import statistics

import numpy as np
from rich.console import Console
from rich.table import Table

import acdnet
from acdnet.cli.demonstration.patients import PLANS, Plan, make_patient
from acdnet.evaluate.metrics import hu_rmse, regions
from acdnet.units import TWELVE_BITS_HU

FIRST, PATIENTS = 3_000_000, 12
COLUMNS = ("patients", "as scanned", "LI", "ACDNet", "LI, true metal", "ACDNet, true metal", "ACDNet better than LI")


def measure(model: str = "default", patients: int = PATIENTS) -> list[list[str]]:
    """Return a row for each kind of patient of the demonstration: medians, and how often the model beats LI."""
    rows = []
    for plan in PLANS:
        scores = [score(plan.site, plan.kind, plan.metal, FIRST + n, model) for n in range(patients)]
        medians = [f"{statistics.median(column):.0f} HU" for column in zip(*scores, strict=True)]
        better = sum(network < li for _, li, network, *_ in scores)
        rows.append([plan.title, *medians, f"{better} of {patients}"])
    return rows


def score(site: str, kind: str, metal: str, seed: int, model: str) -> list[float]:
    """Return the errors of one patient: as scanned, LI, network; LI and network once more with the true metal."""
    patient = make_patient(Plan("", site, kind, metal, seed), profile=(0,))
    scanned, clean, true = np.clip(patient.scanned[0], -1024, TWELVE_BITS_HU), patient.clean[0], patient.metal[0]
    spacing = patient.spacing_mm[1:]
    li = acdnet.reduce(scanned, spacing, "li")
    images = [scanned, li.hu, acdnet.reduce(scanned, spacing, model=model).hu]
    images += [acdnet.reduce(scanned, spacing, "li", metal=true).hu]
    images += [acdnet.reduce(scanned, spacing, model=model, metal=true).hu]
    soft = regions(clean, true | li.metal)["soft"]
    return [hu_rmse(image, clean, soft) for image in images]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="default")
    table = Table(*COLUMNS)
    for row in measure(parser.parse_args().model):
        table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
