"""`acdnet models`: what there is."""

from __future__ import annotations

from collections.abc import Mapping


def models() -> None:
    """List every architecture with its parameters and every shipped model with its score and size."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from acdnet.config import NETWORKS, config_to_dict
    from acdnet.weights.shipped import shipped_cards

    console = Console()
    architectures = Table("architecture", title="Architectures", title_justify="left")
    architectures.add_column("parameters", justify="right")
    architectures.add_column("sizes")
    for name, config in NETWORKS.items():
        sizes = ", ".join(f"{size}={value}" for size, value in config_to_dict(config).items() if size != "network")
        architectures.add_row(name, f"{config.count_parameters():,}", sizes)
    console.print(architectures)

    shipped = Table("name", "architecture", "what it is", "score", title="Shipped models", title_justify="left")
    shipped.add_column("size", justify="right")
    for card, path, aliases in shipped_cards():
        name = f"{card.name} ({', '.join(aliases)})" if aliases else card.name
        shipped.add_row(
            escape(name),
            escape(card.architecture),
            escape(card.summary),
            escape(headline(card.scores)),
            f"{path.stat().st_size / 1e6:.1f} MB",
        )
    console.print(shipped)
    console.print("Research use only. Not a medical device.", style="dim")


def headline(scores: Mapping[str, float]) -> str:
    """Return the scores over all sizes of metal on patients nobody trained on; if there are none, all scores."""
    kept = {what: value for what, value in scores.items() if what.startswith("test, ") and ", metal all sizes" in what}
    short = {what.replace(", metal all sizes", ""): value for what, value in (kept or scores).items()}
    return "\n".join(f"{what.removeprefix('validation: ')} {value:.1f}" for what, value in short.items())
