"""The card of a model: its description, training and hash, in a JSON file next to the weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any

from acdnet.config import NetworkConfig, config_from_dict, config_to_dict
from acdnet.errors import ConfigError, InputRefused, ModelFileError
from acdnet.files import read_limited
from acdnet.parse import parse_json

FORMAT = 1
"""Version of the format of cards."""

UNITS = "mu clipped to [0, 1] / cm, times 255; water = 0.192 / cm"
"""Units of ACDNet."""

CNNMAR_UNITS = "mu in 1 / cm; water = 0.192 / cm"
DUAL_UNITS = "images mu / 0.192 per cm, sinograms line integrals"
LOCALISER_UNITS = "HU in windows, bands in 0.1 / cm (acdnet.methods.learned.clues)"


def units_of(config: NetworkConfig) -> str:
    """Return the units of a network."""
    return {"acdnet": UNITS, "cnnmar": CNNMAR_UNITS, "localiser": LOCALISER_UNITS}.get(config.network, DUAL_UNITS)


NOTICE = "Research use only. Not a medical device. Not for diagnosis."

LICENCE = (
    "Weights: Apache-2.0, also for commercial use and further training; "
    "results: no claim of ours, use and publish them."
)
"""What the licence of weights and results allows."""

NOT_FOR = (
    "Not for diagnosis; not for cone-beam CT, dual-energy or photon-counting images, images without HU, or metal that "
    "covers a third of the body; trained on simulated metal in trunks of adults."
)

CONFIG_KEY = "config"
"""Key of the configuration in the weights file, which must equal that of the card."""

MAX_CARD_BYTES = 1_000_000
LONGEST_TEXT = 2000


@dataclass(frozen=True)
class Training:
    """The training of a model."""

    data: str
    protocol: str
    patches_seen: int
    hours: float
    licences: str = ""
    patients: tuple[str, ...] = ()
    """Marks of the patients (`acdnet.data.pairs.marks`), to avoid scoring a model on patients of its training."""

    def after(self, before: Training | None) -> Training:
        """Return the combined training of a model that continued from an earlier one."""
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
    """The description of a model."""

    name: str
    summary: str
    architecture: str
    config: NetworkConfig
    parameters: int
    sha256: str
    version: str
    """Version of acdnet that wrote the model."""
    training: Training | None = None
    """None if unknown, as for imported checkpoints."""
    scores: Mapping[str, float] = field(default_factory=dict)
    units: str = UNITS
    notice: str = f"{NOTICE} {LICENCE}"
    not_for: str = NOT_FOR
    """Uses for which the model is not suitable."""
    format: int = FORMAT

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "config": config_to_dict(self.config)}, indent=2, allow_nan=False) + "\n"


def card_path(weights: Path) -> Path:
    """Return the path of the card of a weights file."""
    return weights.with_suffix(".json")


def read_model_file(path: Path, limit: int) -> bytes:
    """Read a file of a model; refuse missing and large files."""
    try:
        return read_limited(path, limit)
    except InputRefused as error:
        raise ModelFileError(str(error)) from error


def read_card(weights: Path) -> Card:
    """Read and check the card of a weights file."""
    path = card_path(weights)
    if not path.exists():
        raise ModelFileError(f"{weights}: the card {path.name} is missing; a model consists of two files")
    data = read_model_file(path, MAX_CARD_BYTES)
    try:
        values = parse_json(data, str(path))
    except InputRefused as error:
        raise ModelFileError(f"{error}; it is not a card") from error
    if not isinstance(values, dict):
        raise ModelFileError(f"{path}: is not a card (not a JSON object)")
    try:
        return _parse(values)
    except (ConfigError, _Misfit) as error:
        raise ModelFileError(f"{path}: {error}") from error


class _Misfit(Exception):
    """An invalid value in a card."""


def _parse(values: dict[str, Any]) -> Card:
    if type(values.get("format")) is not int or values["format"] != FORMAT:
        raise _Misfit(f"format is {values.get('format')!r:.20}, but this version reads {FORMAT}; update acdnet")
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
        texts = dict.fromkeys(("data", "protocol", "licences"), str)
        _check(training, {**texts, "patches_seen": int, "hours": (int, float), "patients": list})
        if not all(type(mark) is str for mark in training["patients"]):
            raise _Misfit("patients is not a list of strings")
        training["patients"] = tuple(training["patients"])
    config = config_from_dict(values["config"])
    if values["units"] != units_of(config):
        raise _Misfit(f"units are {values['units']!r}, but must be {units_of(config)!r}")
    return Card(**{**values, "config": config, "training": training and Training(**training)})


def _check(values: dict[str, Any], kinds: Mapping[str, type | tuple[type, ...]]) -> None:
    """Refuse missing and unknown keys, values of wrong types, and strings of several lines."""
    if unknown := sorted(values.keys() ^ kinds.keys()):
        raise _Misfit(f"the key {unknown[0]!r:.40} is {'unknown' if unknown[0] in values else 'missing'}")
    for name, kind in kinds.items():
        if type(values[name]) not in (kind if isinstance(kind, tuple) else (kind,)):
            raise _Misfit(f"{name} has the wrong type ({type(values[name]).__name__})")
        if isinstance(values[name], str) and not (values[name].isprintable() and len(values[name]) <= LONGEST_TEXT):
            raise _Misfit(f"{name} must be one line of at most {LONGEST_TEXT} printable characters")
