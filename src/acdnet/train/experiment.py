"""The two ablations of the supplement, at a budget that the user gives: residual blocks, and the updating order."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path

from acdnet.config import ORDERS
from acdnet.errors import ConfigError
from acdnet.files import write_atomically
from acdnet.train.checkpoint import has_checkpoint, load_checkpoint
from acdnet.train.config import TrainConfig, from_dict
from acdnet.weights.card import read_card

BLOCKS = (1, 2, 3, 4)
EXPERIMENTS = ("blocks", "order")


@dataclass(frozen=True)
class Outcome:
    """One variant and how it scored on validation."""

    variant: str
    parameters: int
    patches: int
    hours: float
    scores: dict[str, float]


def variants(config: TrainConfig, name: str, folder: Path) -> list[tuple[str, TrainConfig]]:
    """Return the settings of every run of an experiment; only one thing differs between them."""
    if name not in EXPERIMENTS:
        raise ConfigError(f"no experiment {name!r}; there are {', '.join(EXPERIMENTS)}")
    if name == "blocks":
        models = {f"{n} blocks": replace(config.model, blocks=n) for n in BLOCKS}
    else:
        models = {f"order {order}": replace(config.model, order=order) for order in ORDERS}
    return [
        (
            variant,
            replace(
                config,
                name=variant,
                model=model,
                run=replace(config.run, folder=str(folder / variant.replace(" ", "-"))),
            ),
        )
        for variant, model in models.items()
    ]


def experiment(config: TrainConfig, name: str, folder: Path) -> Iterator[Outcome]:
    """Run all variants one after the other; those that are done are not run again."""
    from acdnet.train.loop import train

    if not config.data.val:
        raise ConfigError("data.val is empty; variants are compared on validation pairs")
    if config.training.minutes:
        raise ConfigError("an experiment compares equal numbers of patches; say training.patches, not minutes")
    for variant, settings in variants(config, name, folder):
        model = Path(settings.run.folder) / "model.safetensors"
        if model.exists():
            _check_same(settings)
        else:
            train(settings, resume=has_checkpoint(Path(settings.run.folder)))
        card = read_card(model)
        assert card.training is not None
        yield Outcome(variant, card.parameters, card.training.patches_seen, card.training.hours, dict(card.scores))


def _check_same(settings: TrainConfig) -> None:
    """Refuse a variant that was trained with other settings: it may not be compared with the rest."""
    folder = Path(settings.run.folder)
    before = from_dict(load_checkpoint(folder)[0]["config"])
    together = before.training.together  # decided when it was begun, if it was not said
    said = replace(settings, training=replace(settings.training, together=settings.training.together or together))
    for name in ("model", "data", "training"):
        if getattr(before, name) != getattr(said, name):
            raise ConfigError(f"{folder}: was trained with other settings in [{name}]; choose another folder")


def write_table(outcomes: list[Outcome], path: Path) -> None:
    """Write the outcomes as CSV."""
    text = StringIO()
    names = list(outcomes[0].scores)
    writer = csv.writer(text)
    writer.writerow(["variant", "parameters", "patches", "hours", *names])
    for one in outcomes:
        writer.writerow([one.variant, one.parameters, one.patches, one.hours, *(one.scores[name] for name in names)])
    write_atomically({path: text.getvalue().encode()})
