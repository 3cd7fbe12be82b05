"""docs/models.md from the cards of the shipped models: `python -m benchmarks.models`."""

from __future__ import annotations

from pathlib import Path

from acdnet.config import config_to_dict
from acdnet.weights.card import Card
from acdnet.weights.shipped import shipped_cards
from benchmarks.model import ROOT

PAGE = ROOT / "docs" / "models.md"
HEAD = """# Models

Written by `python -m benchmarks.models` from the cards beside the weights. Research use only. Not a medical device.
`acdnet models` lists them; `acdnet.load_model(NAME)` loads one; `acdnet train` makes more ([training.md](training.md)).
Scores on patients that no model was trained on are in [results.md](results.md).
"""


def page() -> str:
    """Return the page."""
    return "\n".join([HEAD, *(section(card, path, aliases) for card, path, aliases in shipped_cards())])


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
            ("data", t.data),
            ("protocols", t.protocol),
            ("examples seen", f"{t.patches_seen:,}"),
            ("hours of training", f"{t.hours:g}"),
            ("licences of the data", t.licences),
        ]
    rows.append(("what it is not for", card.not_for))
    title = f"## {card.name}" + (f" (`{'`, `'.join(aliases)}`)" if aliases else "")
    table = ["| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows)]
    scores = ["| score | |", "|---|---:|", *(f"| {name} | {value:g} |" for name, value in card.scores.items())]
    return "\n".join([title, "", *table, "", *(scores if card.scores else ["No scores."]), ""])


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())
    print(f"written: {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
