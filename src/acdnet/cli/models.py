"""`acdnet models`: list architectures and models."""

from __future__ import annotations

from collections.abc import Mapping

from acdnet.config import PROTOCOLS


def models() -> None:
    """List the architectures and the shipped models with their scores."""
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

    shipped = Table("name", "architecture", title="Shipped models", title_justify="left")
    for column in ("size", *(f"{protocol}\ndB, HU" for protocol in PROTOCOLS)):
        shipped.add_column(column, justify="right", no_wrap=True)
    cards = shipped_cards()
    for card, path, aliases in cards:
        name = f"{card.name} ({', '.join(aliases)})" if aliases else card.name
        size = f"{path.stat().st_size / 1e6:.1f} MB"
        shipped.add_row(escape(name), escape(card.architecture), size, *(headline(card.scores, p) for p in PROTOCOLS))
    console.print(shipped)
    console.print(
        "Scores on test patients, all metal sizes: PSNR of the window in dB, RMSE of soft tissue in HU.\n", style="dim"
    )
    for card, _, _ in cards:
        console.print(f"[bold]{escape(card.name)}[/bold]: {escape(card.summary)}")
    console.print("\nResearch use only. Not a medical device.", style="dim")


def headline(scores: Mapping[str, float], protocol: str) -> str:
    """Return the scores of a protocol on test patients over all metal sizes, or a dash."""
    of = f"test, {protocol}, metal all sizes: "
    db, hu = scores.get(f"{of}window dB"), scores.get(f"{of}soft tissue RMSE HU")
    return "-" if db is None or hu is None else f"{db:.2f}, {hu:.2f}"
