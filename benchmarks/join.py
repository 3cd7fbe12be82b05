"""One evaluation made of several of the same pairs: `python -m benchmarks.join METHODS OUT FOLDER ...`.

Where one model has changed, only that one has to be scored again. FOLDERs are results of `acdnet evaluate`; the scores
of a method come from the last one that has it with the weights it has now, and METHODS says, with commas, which are
kept and in what order. OUT gets tables, single scores and the plot over sizes; pictures of images stay where they were
made. Seconds are those that each evaluation measured.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

from acdnet.evaluate.contestants import contestants
from acdnet.evaluate.figures import draw_sizes
from acdnet.evaluate.lesions import Retention
from acdnet.evaluate.metrics import Scores
from acdnet.evaluate.report import write_report
from acdnet.evaluate.run import AREAS, Evaluation, Result
from acdnet.evaluate.untouched import TISSUES, Change


def result(row: dict[str, Any]) -> Result:
    """Make a result of a row of single scores again."""

    def number(key: str) -> float:
        return math.nan if row[key] is None else float(row[key])

    rmse, mae = ({area: number(f"{kind}_{area}_hu") for area in AREAS} for kind in ("rmse", "mae"))
    there = [tissue for tissue in TISSUES if f"needless_{tissue}_hu" in row]
    changes = {t: Change(number(f"needless_{t}_hu"), int(row[f"needless_{t}_pixels"])) for t in there}
    psnr_ssim = (number("window_psnr"), number("window_ssim"), number("paper_psnr"), number("paper_ssim"))
    scores = Scores(*psnr_ssim, rmse, mae)
    return Result(row["case"], row["metal_pixels"], row["method"], number("seconds"), scores, changes, row["patient"])


def join(names: list[str], folders: list[Path], out: Path) -> None:
    """Write the tables of all methods, the scores of each from the last folder that has them."""
    reports = [json.loads((folder / "report.json").read_text()) for folder in folders]
    evaluation = Evaluation(contestants(names))
    if any("store" not in report for report in reports):
        raise SystemExit("an older evaluation does not say what it scored; evaluate again")
    pairs = {(report["store"], *dict.fromkeys(row["case"] for row in report["scores"])) for report in reports}
    if len(pairs) != 1:
        raise SystemExit("these are evaluations of different pairs")
    kept = []
    weights: dict[str, str] = {}
    for one in evaluation.methods:
        having = [report for report in reports if any(row["method"] == one.name for row in report["scores"])]
        if not having:
            raise SystemExit(f"none of them has scores of {one.name}")
        having = [report for report in having if report["weights"].get(one.name, "") == one.weights]
        if not having:
            raise SystemExit(f"{one.name}: was scored with other weights than it has now")
        evaluation.results += [result(row) for row in having[-1]["scores"] if row["method"] == one.name]
        weights |= {one.name: one.weights} if one.weights else {}
        kept += [Retention(**lesion) for lesion in having[-1]["lesions"] if lesion["method"] == one.name]
    about = {key: reports[0][key] for key in ("data", "protocol", "pairs", "store")}
    about |= {"methods": names, "weights": weights, "joined": len(folders)}
    out.mkdir(parents=True, exist_ok=True)
    write_report(evaluation, kept, out, about)
    draw_sizes(evaluation, out / "sizes.png")


def main() -> None:
    """Join them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", help="with commas, as for acdnet evaluate")
    parser.add_argument("out", type=Path)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    given = parser.parse_args()
    join([name.strip() for name in given.methods.split(",") if name.strip()], given.folders, given.out)
    print(f"written: {given.out}")


if __name__ == "__main__":
    main()
