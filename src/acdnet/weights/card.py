"""The card of a model: what it is, how it was made, and the hash of its weights. Plain JSON beside the weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any

from acdnet.config import ACDNetConfig, NetworkConfig, config_from_dict, config_to_dict
from acdnet.errors import ConfigError, InputRefused, ModelFileError
from acdnet.files import read_limited

FORMAT = 1
"""Version of the card's own layout."""

UNITS = "mu clipped to [0, 1] / cm, times 255; water = 0.192 / cm"
"""What the numbers of ACDNet mean."""

RIVAL_UNITS = {"cnnmar": "mu in 1 / cm; water = 0.192 / cm"}
OTHER_UNITS = "images mu / 0.192 per cm, sinograms line integrals"


def units_of(config: NetworkConfig) -> str:
    """Return what the numbers of a network mean."""
    return UNITS if isinstance(config, ACDNetConfig) else RIVAL_UNITS.get(config.network, OTHER_UNITS)


NOTICE = "Research use only. Not a medical device. Not for diagnosis."

NOT_FOR = (
    "Not for diagnosis; not for cone-beam CT, dual-energy or photon-counting images, images without HU, or metal that "
    "covers a third of the body; trained on simulated metal in trunks of adults."
)

CONFIG_KEY = "config"
"""Where the weights file itself states its configuration, so that a card cannot claim another."""

MAX_CARD_BYTES = 1_000_000
LONGEST_TEXT = 2000


@dataclass(frozen=True)
class Training:
    """What a model has seen."""

    data: str
    protocol: str
    patches_seen: int
    hours: float
    licences: str = ""
    patients: tuple[str, ...] = ()
    """Marks of the patients (`acdnet.data.pairs.marks`), so that nobody scores a model on those it learnt from."""

    def after(self, before: Training | None) -> Training:
        """Return all that a model has seen which was trained `before` and went on from there."""
        if before is None:
            return self
        return Training(
            data=f"{before.data}; then {self.data}"[:LONGEST_TEXT],
            protocol=", ".join(sorted({*before.protocol.split(", "), *self.protocol.split(", ")})),
            patches_seen=before.patches_seen + self.patches_seen,
            hours=round(before.hours + self.hours, 2),
            licences="; ".join(sorted({*before.licences.split("; "), *self.licences.split("; ")} - {""}))[
                :LONGEST_TEXT
            ],
            patients=tuple(sorted({*before.patients, *self.patients})),
        )


@dataclass(frozen=True)
class Card:
    """Everything about a model but its weights."""

    name: str
    summary: str
    architecture: str
    config: NetworkConfig
    parameters: int
    sha256: str
    version: str
    """Version of the program that wrote the model."""
    training: Training | None = None
    """None where it is not known, as for imported checkpoints."""
    scores: Mapping[str, float] = field(default_factory=dict)
    units: str = UNITS
    notice: str = NOTICE
    not_for: str = NOT_FOR
    """What nobody should expect of it."""
    format: int = FORMAT

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "config": config_to_dict(self.config)}, indent=2, allow_nan=False) + "\n"


def card_path(weights: Path) -> Path:
    """Return where the card of a weights file lies."""
    return weights.with_suffix(".json")


def read_model_file(path: Path, limit: int) -> bytes:
    """Read a file of a model; refuse what is no file or too large."""
    try:
        return read_limited(path, limit)
    except InputRefused as error:
        raise ModelFileError(str(error)) from error


def read_card(weights: Path) -> Card:
    """Read and check the card of a weights file."""
    path = card_path(weights)
    if not path.exists():
        raise ModelFileError(f"{weights}: its card {path.name} is missing; a model is two files")
    data = read_model_file(path, MAX_CARD_BYTES)
    try:
        values = json.loads(data, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: not a card (no valid JSON)") from error
    if not isinstance(values, dict):
        raise ModelFileError(f"{path}: not a card (a JSON object is expected)")
    try:
        return _parse(values)
    except (ConfigError, _Misfit) as error:
        raise ModelFileError(f"{path}: {error}") from error


class _Misfit(Exception):
    """A card's value that cannot be."""


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _parse(values: dict[str, Any]) -> Card:
    if type(values.get("format")) is not int or values["format"] != FORMAT:
        raise _Misfit(f"format {values.get('format')!r:.20}, this program reads {FORMAT}; update acdnet")
    values.setdefault("not_for", NOT_FOR)  # cards of earlier versions do not say
    texts = dict.fromkeys(("name", "summary", "architecture", "sha256", "version", "units", "notice", "not_for"), str)
    _check(
        values,
        {**texts, "parameters": int, "config": dict, "scores": dict, "training": (dict, NoneType), "format": int},
    )
    for name, score in values["scores"].items():
        if type(score) not in (int, float):
            raise _Misfit(f"the score {name!r:.40} is not a number")
    training = values["training"]
    if training is not None:
        training.setdefault("patients", [])  # cards of earlier versions do not name them
        texts = dict.fromkeys(("data", "protocol", "licences"), str)
        _check(training, {**texts, "patches_seen": int, "hours": (int, float), "patients": list})
        if not all(type(mark) is str for mark in training["patients"]):
            raise _Misfit("patients is not a list of texts")
        training["patients"] = tuple(training["patients"])
    config = config_from_dict(values["config"])
    if values["units"] != units_of(config):
        raise _Misfit(f"units {values['units']!r}, this program works in {units_of(config)!r}")
    return Card(**{**values, "config": config, "training": training and Training(**training)})


def _check(values: dict[str, Any], kinds: Mapping[str, type | tuple[type, ...]]) -> None:
    """Refuse keys that are missing or not known, values of another type, and texts that are no single line."""
    if unknown := sorted(values.keys() ^ kinds.keys()):
        raise _Misfit(f"the key {unknown[0]!r:.40} is {'not known' if unknown[0] in values else 'missing'}")
    for name, kind in kinds.items():
        if type(values[name]) not in (kind if isinstance(kind, tuple) else (kind,)):
            raise _Misfit(f"{name} is of the wrong type ({type(values[name]).__name__})")
        if isinstance(values[name], str) and not (values[name].isprintable() and len(values[name]) <= LONGEST_TEXT):
            raise _Misfit(f"{name} is not a line of at most {LONGEST_TEXT} printable characters")
