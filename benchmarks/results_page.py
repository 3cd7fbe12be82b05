"""The page that `benchmarks.results` writes, from the scores that it has computed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import fmean
from typing import Any

from acdnet.train.recipes import RECIPES
from acdnet.weights.card import read_card
from acdnet.weights.shipped import find_model, shipped_models
from benchmarks import floors
from benchmarks.model import ROOT
from benchmarks.models import learnt_for
from benchmarks.readme import markdown

PROTOCOLS = ("syndeeplesion", "clinical")
SPLITS = ("test", "site_head")
PICTURES = ROOT / "docs" / "pictures"
TITLES = {
    "syndeeplesion": "the benchmark's protocol (`syndeeplesion`)",
    "clinical": "the clinical protocol (`clinical`)",
    "test": "Patients nobody trained on",
    "site_head": "Heads, a site nobody trained on",
}
FOLDED = ("By metal size (paper)", "By metal size (hu)", "By region", "Cost", "Significance")
"""Tables that are opened by those who want them."""
LESIONS = "### Lesion retention"
ELSEWHERE = "†"
"""Marks scores of networks in a protocol that they did not learn in."""
LABELS = {
    "Input": "as scanned",
    "LI": "LI",
    "NMAR": "NMAR",
    "TRACEFIT": "trace fit (ours, classical)",
    "cnnmar": "CNNMAR",
    "dudonet-s": "DuDoNet, a quarter as wide",
    "dscmar-s": "DSCMAR, a quarter as wide",
    "dudonet++-s": "DuDoNet++, a quarter as wide",
    "benchmark-s-hour": "ACDNet, small, from LI, an hour of training (`benchmark-s-hour`)",
    "benchmark-s-li": "ACDNet, small, from LI as the paper's (`benchmark-s-li`)",
    "benchmark-s": "ACDNet, small, from the trace fit (`benchmark-s`)",
    "benchmark-full": "ACDNet, the paper's sizes, from the trace fit (`benchmark-full`)",
    "clinical-s": "ACDNet, small, from the trace fit, for scans (`clinical-s`)",
}
"""Methods of the README's table, and what they are called there."""

HEAD = """Compare with care:

- All methods are given the true metal. In `acdnet reduce` it has to be found first ([reduce.md](reduce.md)).
- Patients are new to all networks; the kinds of implants and the shapes are those that were trained with, placed and
  scaled anew.
- In the clinical protocol no method has raw data: sinograms are projected from the image.
- Networks were trained for hours where the papers trained for days: the tables of cost say how long, on what, and in
  which protocol. Methods that learnt in one protocol are shown in the other one, too, and are marked there (†): what
  they lose is a change of protocol, not a weakness of the method.
- LI, NMAR, the trace fit, CNNMAR and DSCMAR end with the FBP of measured rays. In the benchmark's protocol the truth
  is the image before it was projected: what noise and FBP cost stays in their scores however well the trace is
  filled. Networks that end in the image learn to take it away, too.
- The test patients were scored several times while this was made. `clinical-s` was exchanged once after such a score;
  `benchmark-full` and the networks in both domains were trained on after their first ones were known. What is
  shipped was chosen on validation pairs ([tried.md](tried.md)).
- Recipes differ: the last runs of `benchmark-full` and one of `benchmark-s-hour` had logarithms of each patch's errors
  as loss, as in a PSNR averaged over images, and Muon; the other ACDNets had the paper's loss and Adam; the rivals have
  the losses of their papers, those in both domains with Muon in their second runs. Recipes of ACDNet are the outcome
  of many runs, theirs of few.
- Hours differ, too. They are those of the clock, on machines that differ, with other work beside: a rough guide.
- No ACDNet of the paper's sizes was trained to begin with LI, as the paper's does.
- Seconds are those of one core with other work beside it, and rows may be of different evaluations: they are no
  comparison. [rivals.md](rivals.md) and [reduce.md](reduce.md) have costs that were measured alone.
- `site_head` is one patient: it says nothing about heads in general, and its p-values nothing about other patients.
- That slices without metal are not changed is no score but a test (F29 in [limits.md](limits.md)).
- `paper` scores are only for comparing with the paper's tables."""
ABOUT = {
    "tracefit": "`TRACEFIT` is a classical method of this project, which networks may begin with instead of LI.",
    "benchmark-s": "`benchmark-s` is a small ACDNet with coarse blocks that begins with a trace fit; the paper's "
    "begins with LI.",
    "benchmark-s-li": "`benchmark-s-li` is what `benchmark-s` was before it learnt to begin with a trace fit: it "
    "begins with LI, as the ACDNet, DuDoNet and DSCMAR of the paper do, and was trained for less time.",
    "benchmark-full": "`benchmark-full` has the paper's sizes: ten stages, 33 channels, no coarse blocks. It was grown "
    "from `benchmark-s`, whose hours are among its own, and begins with a trace fit, too.",
    "clinical-s": "`clinical-s` is as small as `benchmark-s`, learnt in the clinical protocol, and gives back what it "
    "took from rays beside the metal ([maths.md](maths.md)).",
    "cnnmar": "`cnnmar` has its published size.",
}
"""What is said of methods that are shown; files are called by their folder."""
YOUNG = "benchmark-s-hour"
PUBLISHED_SLICES = RECIPES["paper"]["dudonet"]["patches"]


def page(folder: Path, command: str, methods: str) -> str:
    """Return the page: tables as they were written, and pictures."""
    names = {Path(name).parent.name if "/" in name else name.strip() for name in methods.split(",")}
    about = [f"- {text}" for name, text in ABOUT.items() if name in names]
    about += [f"- {reduced(name)}" for name in floors.REDUCED if name in names]
    about += [f"- {young()}"] if YOUNG in names else []
    parts = [
        "# Results",
        f"Written by `{command}`{joined(folder)}. Research use only. Not a medical device.",
        "\n".join([HEAD, *about]),
        "## In short",
        short(folder),
        "## What is asked of the shipped models",
        asked(folder),
    ]
    for split in SPLITS:
        for protocol in PROTOCOLS:
            scores = folder / f"{protocol}-{split}-scores"
            made = counted(json.loads((folder / f"{protocol}-{split}" / "manifest.json").read_text()))
            parts += [f"## {TITLES[split]}, {TITLES[protocol]}", made]
            parts += tables((scores / "tables.md").read_text(), f"{split}, {protocol}")
            if protocol == "clinical":
                text = (folder / f"{split}-lesions-scores" / "tables.md").read_text()
                parts += [part for part in tables(text, f"{split}, {protocol}") if part.startswith(LESIONS)]
            parts.append(
                shown(scores / "sizes.png", f"results-{protocol}-{split}-sizes", "scores by size of the metal")
            )
    parts.append("## Phantoms, side by side")
    for protocol in PROTOCOLS:
        parts.append(f"In {TITLES[protocol]}:")
        panels = folder / f"{protocol}-phantoms-scores" / "panels.png"
        parts.append(shown(panels, f"results-{protocol}-panels", "methods side by side"))
    parts += ["## Weights that were scored", weights(names)]
    return "\n\n".join(parts) + "\n"


def tables(text: str, where: str) -> list[str]:
    """Return the tables of an evaluation, each with the place it is from, some of them folded."""
    found = []
    for part in text[text.index("## ") + 3 :].split("\n## "):
        title, table = part.split("\n", 1)
        told = f"{title}: {where}"
        if title.startswith(FOLDED):
            found.append(f"<details><summary>{told}</summary>\n\n{table.strip()}\n\n</details>")
        else:
            found.append(f"### {told}\n\n{table.strip()}")
    return found


def weights(names: set[str]) -> str:
    """Return which weights these are."""
    cards = [read_card(path) for name, path in shipped_models().items() if name in names]
    return markdown(("model", "SHA-256"), ((f"`{card.name}`", f"`{card.sha256[:16]}...`") for card in cards))


def asked(folder: Path) -> str:
    """Return what is asked of the models, and whether it holds."""
    found = []
    for split in SPLITS:
        kept = json.loads((folder / f"{split}-lesions-scores" / "report.json").read_text()).get("lesions", ())
        for protocol in PROTOCOLS:
            report = json.loads((folder / f"{protocol}-{split}-scores" / "report.json").read_text())
            lesions = kept if protocol == "clinical" else ()
            found.append(floors.Scored(f"{split}, {protocol}", report["scores"], lesions))
    note = (
        "Window PSNR, SSIM, RMSE and lesions as in the tables below. Tissue needs no change over 5 cm from metal where "
        "the artifact is below 5 HU. Its mean change is shown in both readings: of all pixels, and of slices' means, "
        "in which a few pixels between strong streaks count as much as a whole pelvis."
    )
    return f"{floors.table(*found)}\n\n{note}"


def reduced(name: str) -> str:
    """Say what a network of fewer channels is, and how much it has seen, as its card has it."""
    seen = read_card(find_model(name)).training
    slices = f"{seen.patches_seen:,} slices in {seen.hours:.1f} hours" if seen else "no slice"
    return (
        f"`{name}` has a quarter of the published channels and has seen {slices}, where the published recipe is "
        f"assumed to take {PUBLISHED_SLICES:,}. The published size was not trained; [rivals.md](rivals.md) has what a "
        "step costs."
    )


def young() -> str:
    """Say what the ACDNet is that was trained for as short as the networks of fewer channels, as its card has it."""
    seen = read_card(find_model(YOUNG)).training
    hours = f"{seen.hours:.1f} hours" if seen else "no time"
    return (
        f"`{YOUNG}` is a small ACDNet that began with nothing learnt, begins with LI, and was trained for {hours}, to "
        "be compared with the networks in both domains at about as little training. These work on raw data; ACDNet "
        "sees of them what LI made."
    )


def joined(folder: Path) -> str:
    """Say how scores were computed by the command: all at once, or methods whose weights were exchanged later on."""
    reports = [folder / f"{protocol}-{split}-scores" / "report.json" for split in SPLITS for protocol in PROTOCOLS]
    if any(json.loads(path.read_text()).get("joined", 1) > 1 for path in reports):
        return (
            "; every number was computed by it, in several evaluations of the same pairs with the same code: methods "
            "that are new, or whose weights were exchanged, were scored later, the others not again"
        )
    return "; every number was computed by it"


def shown(picture: Path, name: str, title: str) -> str:
    """Copy a picture to the others, and return the line that shows it."""
    shutil.copy(picture, PICTURES / f"{name}.png")
    return f"![{title}](pictures/{name}.png)"


def counted(manifest: dict[str, Any]) -> str:
    """Say how much a store holds, and what was left out."""
    entries, skipped = manifest["slices"], manifest["skipped"]
    patients = len({entry["patient"] for entry in entries})
    pairs = sum(len(entry["pairs"]) for entry in entries)
    left_out = f"; {len(skipped)} slices could not be used" if skipped else ""
    whose = f"{patients} patients" if patients > 1 else "one patient"
    return f"{pairs} pairs of {len(entries)} slices of {whose}{left_out}."


def averages(folder: Path, protocol: str, split: str) -> dict[str, tuple[float, float, float]]:
    """Return window PSNR and SSIM and RMSE of soft tissue of all methods on a store."""
    report = json.loads((folder / f"{protocol}-{split}-scores" / "report.json").read_text())
    by_method: dict[str, list[dict[str, Any]]] = {}
    for row in report["scores"]:
        by_method.setdefault(row["method"], []).append(row)

    def mean(rows: list[dict[str, Any]], key: str) -> float:
        return fmean(row[key] for row in rows if row[key] is not None)

    return {
        method: (mean(rows, "window_psnr"), mean(rows, "window_ssim"), mean(rows, "rmse_soft_hu"))
        for method, rows in by_method.items()
    }


def is_at_home(method: str, protocol: str) -> bool:
    """Tell whether a method may be used in a protocol: not a network that learnt for another one."""
    path = shipped_models().get(method)
    return path is None or learnt_for(read_card(path)) == protocol


def short(folder: Path) -> str:
    """Return the averages of all methods on all stores: window PSNR and SSIM, and RMSE of soft tissue."""
    stores = [(protocol, split) for split in SPLITS for protocol in PROTOCOLS]
    found: dict[str, list[str]] = {}
    for protocol, split in stores:
        for method, (psnr, ssim, soft) in averages(folder, protocol, split).items():
            mark = "" if is_at_home(method, protocol) else f" {ELSEWHERE}"
            found.setdefault(method, []).append(f"{psnr:.2f} / {ssim:.4f} / {soft:.1f}{mark}")
    whose = {split: patients(folder, split) for split in SPLITS}
    columns = ["method", *(f"{split} ({whose[split]}), {protocol}" for protocol, split in stores)]
    table = markdown(columns, ([method, *cells] for method, cells in found.items()), texts=1)
    note = "PSNR in dB / SSIM of the window 0 to 0.5 / cm / RMSE of soft tissue in HU; without metal."
    return f"{table}\n\n{note} {ELSEWHERE}: did not learn for this protocol."


def brief(folder: Path) -> str:
    """Return the README's table: test patients, every network in the protocol it learnt for."""
    columns = ("method", "benchmark: PSNR", "SSIM", "soft tissue", "scanner: PSNR", "SSIM", "soft tissue")
    found: dict[str, list[str]] = {label: [] for label in LABELS.values()}
    for protocol in PROTOCOLS:
        scores = averages(folder, protocol, "test")
        for method, label in LABELS.items():
            known = method in scores and is_at_home(method, protocol)
            psnr, ssim, soft = scores[method] if known else (0.0, 0.0, 0.0)
            found[label] += [f"{psnr:.2f} dB", f"{ssim:.4f}", f"{soft:.1f} HU"] if known else ["-"] * 3
    shown = ([label, *cells] for label, cells in found.items() if set(cells) != {"-"})
    note = (
        f"Means over {patients(folder, 'test')}: PSNR and SSIM of the window 0 to 0.5 / cm, RMSE of soft tissue, all "
        "without metal; each network in the protocol it learnt for."
    )
    return f"{markdown(columns, shown, texts=1)}\n\n{note}"


def patients(folder: Path, split: str) -> str:
    """Say how many patients a split has."""
    report = json.loads((folder / f"{PROTOCOLS[0]}-{split}-scores" / "report.json").read_text())
    count = len({row["patient"] for row in report["scores"]})
    return f"{count} patients" if count > 1 else "one patient"
