"""The demonstration: phantoms scanned, reduced, scored and drawn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from acdnet.demo.phantom import SITES, make_phantom
from acdnet.demo.pictures import draw_comparison, draw_stages
from acdnet.demo.scan import Scan, scan
from acdnet.errors import ResourceError
from acdnet.evaluate.metrics import hu_rmse, window_psnr
from acdnet.model.acdnet import Decomposition
from acdnet.model.border import decompose_hu, reduced_hu
from acdnet.weights.load import load_model
from acdnet.weights.shipped import find_model

SEED = 2_000_000
"""First seed of the demonstrated phantoms; training and validation used others."""

COLUMNS = ("phantom", "metal pixels", "corrupted", "LI", "ACDNet")
CAPTION = "PSNR (window 0 to 0.5 / cm) and RMSE of soft tissue, without the metal"

SOFT_TISSUE_HU = (-200.0, 200.0)


@dataclass(frozen=True)
class Row:
    """Scores of one phantom: corrupted, LI, ACDNet."""

    site: str
    metal_pixels: int
    psnr: tuple[float, float, float]
    rmse: tuple[float, float, float]

    def cells(self) -> tuple[str, ...]:
        """Return the row of a table with the columns `COLUMNS`."""
        scores = (f"{psnr:.1f} dB, {rmse:.0f} HU" for psnr, rmse in zip(self.psnr, self.rmse, strict=True))
        return self.site, str(self.metal_pixels), *scores


@dataclass(frozen=True)
class Demo:
    """What the demonstration made."""

    model: str
    rows: list[Row]
    pictures: list[Path]


def run_demo(out: Path, model_name: str) -> Demo:
    """Run the demonstration and write its pictures into the folder `out`."""
    path = find_model(model_name)
    model = load_model(path)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResourceError(f"{out}: cannot be made a folder ({error.strerror})") from error

    cases: list[tuple[str, Scan, NDArray[np.float32]]] = []
    decomposed: list[Decomposition] = []
    for number, site in enumerate(SITES):
        rng = np.random.default_rng(SEED + number)
        scanned = scan(make_phantom(site, rng), rng)
        found = decompose_hu(model, scanned.corrupted, scanned.li, scanned.metal, details=True)
        decomposed.append(found)
        cases.append((site, scanned, reduced_hu(found, scanned.corrupted, scanned.metal)))

    pictures = [out / "comparison.png", out / "stages.png"]
    draw_comparison(cases, pictures[0])
    draw_stages(cases[0][1], decomposed[0], pictures[1])
    return Demo(path.stem, [_score(*case) for case in cases], pictures)


def _score(site: str, scanned: Scan, reduced: NDArray[np.float32]) -> Row:
    images = (scanned.corrupted, scanned.li, reduced)
    low, high = SOFT_TISSUE_HU
    soft = (scanned.clean > low) & (scanned.clean < high) & ~scanned.metal
    psnr = [window_psnr(image, scanned.clean, scanned.metal) for image in images]
    rmse = [hu_rmse(image, scanned.clean, soft) for image in images]
    return Row(site, int(scanned.metal.sum()), (psnr[0], psnr[1], psnr[2]), (rmse[0], rmse[1], rmse[2]))
