"""The card of a model: what it is, how it was made, and the hash of its weights. Plain JSON beside the weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from acdnet.config import ACDNetConfig
from acdnet.errors import ConfigError, ModelFileError

FORMAT = 1
"""Version of the card's own layout."""

UNITS = "mu clipped to [0, 1] / cm, times 255; water = 0.192 / cm"
"""What the network's numbers mean."""

NOTICE = "Research use only. Not a medical device. Not for diagnosis."

CONFIG_KEY = "config"
"""Where the weights file itself states its configuration, so that a card cannot claim another."""

MAX_CARD_BYTES = 1_000_000


@dataclass(frozen=True)
class Training:
    """What a model has seen."""

    data: str
    protocol: str
    patches_seen: int
    hours: float
    licences: str = ""


@dataclass(frozen=True)
class Card:
    """Everything about a model but its weights."""

    name: str
    summary: str
    architecture: str
    config: ACDNetConfig
    parameters: int
    sha256: str
    version: str
    """Version of the program that wrote the model."""
    training: Training | None = None
    """None where it is not known, as for imported checkpoints."""
    scores: Mapping[str, float] = field(default_factory=dict)
    units: str = UNITS
    notice: str = NOTICE
    format: int = FORMAT

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "config": self.config.to_dict()}, indent=2, ensure_ascii=False) + "\n"


def card_path(weights: Path) -> Path:
    """Return where the card of a weights file lies."""
    return weights.with_suffix(".json")


def read_card(weights: Path) -> Card:
    """Read and check the card of a weights file."""
    path = card_path(weights)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_CARD_BYTES + 1)
    except FileNotFoundError as error:
        raise ModelFileError(f"{weights}: its card {path.name} is missing; a model is two files") from error
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read ({error.strerror})") from error
    if len(data) > MAX_CARD_BYTES:
        raise ModelFileError(f"{path}: larger than any card ({MAX_CARD_BYTES} bytes)")
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: not a card (no valid JSON)") from error
    return _parse(values, path)


def _parse(values: Any, path: Path) -> Card:
    if not isinstance(values, dict):
        raise ModelFileError(f"{path}: not a card (a JSON object is expected)")
    known = {field.name: field.type for field in fields(Card)}
    if values.get("format") != FORMAT:
        raise ModelFileError(f"{path}: format {values.get('format')!r}, this program reads {FORMAT}; update acdnet")
    if unknown := sorted(values.keys() - known.keys()):
        raise ModelFileError(f"{path}: unknown key {unknown[0]!r}")
    for name, kind in (("name", str), ("summary", str), ("architecture", str), ("parameters", int), ("sha256", str)):
        if not isinstance(values.get(name), kind):
            raise ModelFileError(f"{path}: {name} is {values.get(name)!r}, expected {kind.__name__}")
    for name in ("version", "units", "notice"):
        if not isinstance(values.get(name), str):
            raise ModelFileError(f"{path}: {name} is {values.get(name)!r}, expected str")
    if values["units"] != UNITS:
        raise ModelFileError(f"{path}: units {values['units']!r}, this program works in {UNITS!r}")
    scores = values.get("scores", {})
    if not isinstance(scores, dict) or not all(isinstance(score, (int, float)) for score in scores.values()):
        raise ModelFileError(f"{path}: scores must map names to numbers")
    try:
        config = ACDNetConfig.from_dict(values["config"])
        training = None if values.get("training") is None else Training(**values["training"])
    except (ConfigError, KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(f"{path}: {error}") from error
    return Card(**{**values, "config": config, "training": training})
