"""Run the demonstration: reduce series as a user would, and score them against the truth."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from acdnet.cli.demonstration.patients import PLANS, Patient, make_patient
from acdnet.cli.demonstration.pictures import draw_comparison
from acdnet.errors import InputRefused, ResourceError
from acdnet.evaluate.metrics import hu_rmse, regions, window_psnr
from acdnet.io.dicom.create import new_series, write_series
from acdnet.io.dicom.scan import DicomScan
from acdnet.reduction.array import reduce
from acdnet.reduction.files import run_job
from acdnet.reduction.settings import Settings
from acdnet.weights.card import read_card
from acdnet.weights.shipped import find_model

COLUMNS = ("patient", "slices", "score", "as scanned", "LI", "ACDNet")
CAPTION = (
    "Means over slices with metal: PSNR in the window 0 to 0.5 / cm and RMSE of soft tissue, outside the true and "
    "the detected metal"
)
MARK = ".acdnet-demo"
"""Marker file of folders created by the demonstration."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """Scores of one patient: as scanned, LI, ACDNet."""

    title: str
    slices: int
    psnr: tuple[float, ...]
    rmse: tuple[float, ...]

    def lines(self) -> list[tuple[str, ...]]:
        """Return the rows of a table with the columns `COLUMNS`."""
        psnr, rmse = ([f"{value:.1f}" for value in values] for values in (self.psnr, self.rmse))
        return [(self.title, str(self.slices), "PSNR, dB", *psnr), ("", "", "RMSE, HU", *rmse)]


@dataclass(frozen=True)
class Demo:
    """The output of the demonstration."""

    model: str
    rows: list[Row]
    picture: Path
    folders: list[Path]


def run_demo(out: Path, method: str = "acdnet", say: Say = lambda _: None) -> Demo:
    """Run the demonstration in the folder `out`; replace an earlier one."""
    card = read_card(find_model("default" if method == "acdnet" else method))
    _fresh(out)
    rows, cases, folders = [], [], []
    for plan in PLANS:
        say(f"simulating a patient with {plan.title}")
        patient = make_patient(plan)
        series = write_series(
            out / patient.folder / "original", new_series(patient.scanned, patient.spacing_mm, plan.site)
        )
        say(f"reducing the series of {len(patient.scanned)} slices")
        finished = run_job(DicomScan(series), series, out / patient.folder / "result", Settings(method=method), _quiet)
        scanned, after = (_volume(place) for place in (series, finished.out / "reduced"))
        by_li = reduce(scanned, patient.spacing_mm, "li")
        images = {"as scanned": scanned, "LI": by_li.hu, "ACDNet": after}
        metal = patient.metal | by_li.mask  # detected metal is unchanged in all images
        with_metal = [n for n, mask in enumerate(patient.metal) if mask.any()]
        rows.append(_score(patient, images, metal, with_metal))
        middle = with_metal[len(with_metal) // 2]
        shown = {name: volume[middle] for name, volume in images.items()} | {"truth": patient.clean[middle]}
        cases.append((f"{plan.title}, slice {middle + 1}", shown, metal[middle]))
        folders += [series, finished.out]
    picture = out / "comparison.png"
    draw_comparison(cases, picture)
    return Demo(card.name, rows, picture, folders)


def _fresh(out: Path) -> None:
    try:
        if out.exists() and any(out.iterdir()):
            if not (out / MARK).exists():
                raise InputRefused(f"{out}: is not empty and no earlier demo; choose another folder")
            shutil.rmtree(out)
        out.mkdir(parents=True, exist_ok=True)
        (out / MARK).touch()
    except OSError as error:
        raise ResourceError(f"{out}: cannot create the folder ({error.strerror})") from error


def _quiet(what: str, done: int, total: int) -> None:
    pass


def _volume(folder: Path) -> NDArray[np.float32]:
    scan = DicomScan(folder)
    return np.stack([scan.read(n).hu for n in range(len(scan))])


def _score(
    patient: Patient, images: dict[str, NDArray[np.float32]], metal: NDArray[np.bool_], slices: list[int]
) -> Row:
    psnr, rmse = [], []
    for volume in images.values():
        both = []
        for n in slices:
            soft = regions(patient.clean[n], metal[n])["soft"]
            psnr_ = window_psnr(volume[n], patient.clean[n], metal[n])
            both.append((psnr_, hu_rmse(volume[n], patient.clean[n], soft)))
        means = np.mean(both, axis=0)
        psnr.append(float(means[0]))
        rmse.append(float(means[1]))
    return Row(patient.plan.title, len(slices), tuple(psnr), tuple(rmse))
