"""docs/models.md from the cards of the shipped models: `python -m benchmarks.models`.

Every ACDNet is shown at work on a phantom with a hip prosthesis, scanned in the protocol it was trained for.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import acdnet
from acdnet.config import ACDNetConfig, config_to_dict
from acdnet.data.store import Pair
from acdnet.evaluate.figures import WINDOW_HU, draw_dictionary, draw_stages
from acdnet.fast.inference import InferenceACDNet
from acdnet.figures import BACKGROUND, INK, caption, save, show
from acdnet.methods.hu_adapter import decompose_hu
from acdnet.methods.trace_fit import tracefit
from acdnet.physics.implants.anatomy import find_anatomy
from acdnet.physics.implants.draw import draw_implant
from acdnet.physics.phantom import make_phantom
from acdnet.physics.simulate import simulate
from acdnet.weights.card import Card
from acdnet.weights.load import read_acdnet
from acdnet.weights.shipped import shipped_cards
from benchmarks.model import ROOT

PAGE, PICTURES = ROOT / "docs" / "models.md", ROOT / "docs" / "pictures"
SEED = 3_000_000
CHANGE_HU = 30.0
"""Of the picture of changes: bone that is changed needlessly would be seen."""
HEAD = """# Models

Written by `python -m benchmarks.models` from the cards beside the weights. Research use only. Not a medical device.
`acdnet models` lists them; `acdnet.load_model(NAME)` loads one of ACDNet, `acdnet reduce --method KIND` takes the
others; `acdnet train` makes more ([training.md](training.md)).
Scores on patients that no model was trained on are in [results.md](results.md). Validation scores are those of the
pairs that a run had, not the same for all models, and of the weights before they were rounded, where they were.
"""


def page() -> str:
    """Return the page."""
    cards = shipped_cards()
    licences = {one for card, *_ in cards if card.training for one in card.training.licences.split("; ")} - {""}
    common = ["## Licences of the data", "", *(f"- {one}" for one in sorted(licences)), ""]
    return "\n".join([HEAD, *(section(card, path, aliases) for card, path, aliases in cards), *common])


def section(card: Card, path: Path, aliases: list[str]) -> str:
    """Describe one model."""
    sizes = ", ".join(f"{name} = {value}" for name, value in config_to_dict(card.config).items())
    rows = [
        ("what it is", card.summary),
        ("architecture", f"`{card.architecture}`: {sizes}"),
        ("parameters", f"{card.parameters:,}"),
        ("file", f"{path.name}, {path.stat().st_size / 1e6:.1f} MB, SHA-256 `{card.sha256[:16]}...`"),
    ]
    if card.training:
        t = card.training
        rows += [
            ("protocols", t.protocol),
            ("examples seen", f"{t.patches_seen:,}"),
            ("hours of training", f"{t.hours:g}"),
        ]
    rows.append(("what it is not for", card.not_for))
    title = f"## {card.name}" + (f" (`{'`, `'.join(aliases)}`)" if aliases else "")
    table = ["| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows)]
    runs = card.training.data.split("; then ") if card.training else []
    seen = ["What it has seen:", "", *(f"{n}. {run}" for n, run in enumerate(runs, 1)), ""] if runs else []
    scores = table_of(card.scores)
    shown = pictures(card, path) if isinstance(card.config, ACDNetConfig) else []
    shown += change(PICTURES / f"model-{card.name}-change.png") if "default" in aliases else []
    return "\n".join([title, "", *table, "", *seen, *(scores or ["No scores.", ""]), *shown])


def table_of(scores: Mapping[str, float]) -> list[str]:
    """Return scores, called `WHERE: WHAT`, as a table with a row for each WHERE."""
    known = {tuple(name.rsplit(": ", 1)): f"{value:.1f}" for name, value in scores.items()}
    wheres, whats = (list(dict.fromkeys(key[n] for key in known)) for n in range(2))
    parts = []
    for group in (["validation"], [where for where in wheres if where != "validation"]):
        rows = [where for where in group if where in wheres]
        columns = [what for what in whats if any((row, what) in known for row in rows)]
        if rows:
            parts += ["| scores | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
            parts += [
                f"| {row} | " + " | ".join(known.get((row, what), "-") for what in columns) + " |" for row in rows
            ]
            parts.append("")
    return parts


def pictures(card: Card, path: Path) -> list[str]:
    """Draw the stages and the dictionary of a model; return the lines that show them."""
    model, _ = read_acdnet(path)
    pair = scanned(learnt_for(card))
    found = decompose_hu(
        InferenceACDNet(model), pair.corrupted, pair.first(model.config.first), pair.metal, details=True
    )
    stages, dictionary = (PICTURES / f"model-{card.name}-{what}.png" for what in ("stages", "dictionary"))
    draw_stages(pair, found, stages)
    draw_dictionary(model.D.detach().numpy(), found, dictionary)
    return [f"![{what.stem}](pictures/{what.name})\n" for what in (stages, dictionary)]


def learnt_for(card: Card) -> str:
    """Return the protocol that a model is for: the last one of those it learnt in."""
    learnt = card.training.protocol if card.training else "clinical"
    return "syndeeplesion" if "syndeeplesion" in learnt else "clinical"


def scanned(protocol: str, site: str = "pelvis", implant: str = "hip-cup") -> Pair:
    """Scan a phantom with an implant, none that was chosen for its looks."""
    phantom = make_phantom(site, SEED)
    anatomy = find_anatomy(phantom.hu, phantom.pixel_mm)
    metal = draw_implant(anatomy, np.random.default_rng(SEED), (implant,)).mask
    made = simulate(phantom.hu, metal, protocol, SEED, phantom.pixel_mm, "titanium")
    return Pair(made.clean, made.corrupted, made.li, metal, tracefit=tracefit(made.measured()))


def change(path: Path) -> list[str]:
    """Draw what `acdnet.reduce` takes from phantoms, in so narrow a window that a skeleton would show."""
    figure = Figure(figsize=(10, 5.3), facecolor=BACKGROUND, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(2, 4)
    for row, (site, implant) in zip(axes, (("pelvis", "hip-cup"), ("head", "fillings")), strict=True):
        pair, pixel_mm = scanned("clinical", site, implant), make_phantom(site, SEED).pixel_mm
        done = acdnet.reduce(pair.corrupted, (pixel_mm, pixel_mm), metal=pair.metal).hu
        panels = (
            ("as scanned", pair.corrupted, WINDOW_HU),
            ("reduced", done, WINDOW_HU),
            ("taken away", pair.corrupted - done, (-CHANGE_HU, CHANGE_HU)),
            ("true artifact", pair.corrupted - pair.clean, (-CHANGE_HU, CHANGE_HU)),
        )
        for axis, (title, image, window) in zip(row, panels, strict=True):
            show(axis, image, pair.metal, *window)
            axis.set_title(title, color=INK)
    save(figure, path, caption(f"changes and artifacts ±{CHANGE_HU:.0f} HU · metal in red · phantoms by formula"))
    return [f"![what it takes from phantoms, in a narrow window](pictures/{path.name})\n"]


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())
    print(f"written: {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
