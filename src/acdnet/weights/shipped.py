"""The models of the package, by name."""

from __future__ import annotations

from pathlib import Path

from acdnet.errors import ModelFileError
from acdnet.weights.card import Card, read_card

FOLDER = Path(__file__).parent / "models"

ALIASES = {"default": "clinical-s", "benchmark": "benchmark-full"}
"""Names by purpose: `default` for scans, `benchmark` for pairs of the benchmark."""


def shipped_models() -> dict[str, Path]:
    """Return the weights files of all shipped models by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.safetensors"))}


def find_model(name_or_path: str | Path) -> Path:
    """Return the weights file of a shipped model by name or alias, or a given path."""
    name = str(name_or_path)
    models = shipped_models()
    if found := models.get(ALIASES.get(name, name)):
        return found
    path = Path(name_or_path)
    if path.suffix.lower() in (".pt", ".pth", ".ckpt"):
        raise ModelFileError(
            f"{path}: checkpoints must be converted; run: acdnet import-weights {path} -o m.safetensors"
        )
    if path.suffix != ".safetensors" and path.is_file():
        raise ModelFileError(f"{path}: is not a model; models are .safetensors files with cards")
    if path.suffix != ".safetensors":
        raise ModelFileError(f"no shipped model {name!r}; choose one of {', '.join([*ALIASES, *models])}")
    return path


def model_of_kind(kind: str) -> Path:
    """Return the shipped model of a kind of network."""
    for card, path, _ in shipped_cards():
        if card.config.network == kind:
            return path
    raise ModelFileError(f"no model of {kind} is shipped; train one (docs/comparison.md) and give its file")


def shipped_cards() -> list[tuple[Card, Path, list[str]]]:
    """Return card, weights file and aliases of every shipped model."""
    cards = []
    for name, path in shipped_models().items():
        cards.append((read_card(path), path, [alias for alias, meant in ALIASES.items() if meant == name]))
    return cards


def list_models() -> list[Card]:
    """Return the cards of all shipped models."""
    return [card for card, _, _ in shipped_cards()]
