"""The settings of a training run: a TOML file, checked key by key. Recipes give the values that are not set.

name = "my-model"
[model]
architecture = "acdnet-s"
[data]
train = ["data/train"]
val = ["data/val"]
[training]
minutes = 60
[run]
folder = "runs/my-model"
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from acdnet.config import NETWORKS, ACDNetConfig, NetworkConfig
from acdnet.errors import ConfigError, check_limits
from acdnet.messages import quoted
from acdnet.model.loss import L1_WEIGHT, MU_STAGE
from acdnet.parse import parse_value, read_toml
from acdnet.train.recipes import CHOICES, FOR_SOME, MOST_PATCHES_PER_PAIR, RECIPES

UNSET = -(2**31)
"""Marks a size of the network that is given by its architecture."""
SIZES = ("T", "N", "d", "p", "N_p", "blocks", "order", "coarse", "first", "last", "width", "layers")
TYPE_NAMES = {bool: "true or false", int: "an integer", float: "a number", str: "a string"}
Section = TypeVar("Section")


@dataclass(frozen=True)
class ModelSettings:
    """The network: a named architecture; single sizes can be overridden."""

    architecture: str = "acdnet"
    start_from: str = ""
    """The model whose weights the run starts from, a shipped name or a file; it may have fewer stages or channels."""
    T: int = UNSET
    N: int = UNSET
    d: int = UNSET
    p: int = UNSET
    N_p: int = UNSET
    blocks: int = UNSET
    order: str = ""
    coarse: int = UNSET
    first: str = ""
    last: str = ""
    width: int = UNSET
    layers: int = UNSET

    def network(self) -> NetworkConfig:
        """Return the architecture with the overridden sizes."""
        if self.architecture not in NETWORKS:
            raise ConfigError(f"model.architecture is {self.architecture!r}; choose one of {', '.join(NETWORKS)}")
        known = NETWORKS[self.architecture]
        names = {entry.name for entry in fields(known)}
        given = {name: getattr(self, name) for name in SIZES if getattr(self, name) not in (UNSET, "")}
        if wrong := sorted(given.keys() - names):
            raise ConfigError(
                f"model.{wrong[0]}: {self.architecture} has no such size; it has {', '.join(sorted(names))}"
            )
        return replace(known, **given)


@dataclass(frozen=True)
class DataSettings:
    """The data sets: stores written by `acdnet simulate`, or folders of the benchmark."""

    train: tuple[str, ...] = ()
    val: tuple[str, ...] = ()
    train_splits: tuple[str, ...] = ("train",)
    val_splits: tuple[str, ...] = ("val",)
    val_pairs: int = 16
    """Number of pairs that are scored in validation, drawn at random once."""

    def __post_init__(self) -> None:
        check_limits(self, {"val_pairs": (1, 10**9)}, "data.")


@dataclass(frozen=True)
class TrainingSettings:
    """How the weights are trained. The recipe gives the values that are not set."""

    recipe: str = "short"
    seed: int = 0
    patches: int = 0
    """Total number of patches; either this or `minutes` is needed unless the recipe sets it."""
    minutes: float = 0.0
    """Duration of the run; converted to a number of patches once the speed is measured."""
    batch: int = 8
    """Patches per step over all processes."""
    patch: int = 64
    """Side of a patch in pixels."""
    patches_per_pair: int = 0
    """Consecutive patches drawn from one pair, which share its K; 0: up to four, as the batch allows."""
    rate: float = 1e-3
    """Peak learning rate."""
    warm_up: float = 0.03
    """Share of the run in which the rate rises to its peak."""
    schedule: str = "cosine"
    """cosine, or steps: halved at the shares of the run in `halve_at`."""
    halve_at: tuple[float, ...] = ()
    final_share: float = 0.01
    """Final rate of the cosine schedule as a share of the peak."""
    optimiser: str = "adam"
    """adam or muon (`acdnet.train.muon`)."""
    beta1: float = 0.5
    beta2: float = 0.999
    clip: float = 100.0
    """Largest norm of the gradient; 0: no limit."""
    average: float = 0.998
    """Decay of the moving average of the weights; 0: no average."""
    omega: float = L1_WEIGHT
    """Weight of absolute errors in the loss (omega_1, omega_2); squared errors have weight 1."""
    mu: float = MU_STAGE
    """Weight in the loss of the stages before the last (mu_t); the last has weight 1."""
    initial: str = "solver"
    """Initial weights of ACDNet: `published`, or `solver` (`acdnet.train.init`)."""
    hard_patch_share: float = 0.5
    """Share of the patches chosen for their strong artifacts."""
    lesions: float = 0.0
    """Share of the patches to which small lesions are added."""
    lesion_weight: float = 1.0
    """Weight of the pixels of these lesions in the loss."""
    artifact_scaling: float = 0.0
    """Share of the patches whose artifact is scaled by a factor between 0 and 1, so that clean tissue is preserved."""
    relative: bool = False
    """Use the logarithms of each patch's errors, so that weak and strong artifacts have equal weight."""
    bfloat16: bool = False
    """Compute convolutions in bfloat16, which is faster on CPUs that support it."""
    fixed_norms: bool = False
    """Normalise by the fixed statistics of `model.start_from`, as inference does."""

    def __post_init__(self) -> None:
        limits = {
            "batch": (1, 4096), "patch": (16, 1024), "rate": (1e-8, 1.0), "warm_up": (0.0, 0.9), "minutes": (0, 1e7),
            "final_share": (0.0, 1.0), "beta1": (0.0, 0.9999), "beta2": (0.0, 0.999999), "clip": (0.0, 1e9),
            "average": (0.0, 0.99999), "omega": (0.0, 1e9), "seed": (0, 2**63 - 1), "patches": (0, 1e12),
            "patches_per_pair": (0, 4096), "lesion_weight": (1, 1e3),
            **dict.fromkeys(("mu", "hard_patch_share", "lesions", "artifact_scaling"), (0.0, 1.0)),
        }  # fmt: skip
        check_limits(self, limits, "training.")
        for name, known in CHOICES.items():
            if (value := getattr(self, name)) not in known:
                raise ConfigError(f"training.{name} is {quoted(repr(value))}; choose {' or '.join(known)}")


@dataclass(frozen=True)
class RunSettings:
    """The folder of a run, its processes, and how often it is saved and validated."""

    folder: str = ""
    checkpoint_minutes: float = 3.0
    validate_minutes: float = 20.0
    log_steps: int = 20
    loaders: int = 1
    """Threads that read patches."""
    device: str = "auto"
    devices: int = 1
    """Processes to start on this machine; not used under `torchrun`, which starts them itself."""

    def __post_init__(self) -> None:
        limits = {"log_steps": (1, 10**9), "loaders": (1, 64), "devices": (1, 64)}
        limits |= {"checkpoint_minutes": (0, 10**6), "validate_minutes": (0, 10**6)}
        check_limits(self, limits, "run.")


@dataclass(frozen=True)
class TrainConfig:
    """All settings of a run."""

    name: str = "model"
    model: ModelSettings = field(default_factory=ModelSettings)
    data: DataSettings = field(default_factory=DataSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    run: RunSettings = field(default_factory=RunSettings)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    def shared_by(self, processes: int) -> TrainConfig:
        """Return the settings with `patches_per_pair` resolved for a number of processes."""
        t = self.training
        most = MOST_PATCHES_PER_PAIR if isinstance(self.model.network(), ACDNetConfig) else 1
        patches_per_pair = t.patches_per_pair or math.gcd(max(1, t.batch // processes), most)
        return replace(self, training=replace(t, patches_per_pair=patches_per_pair))

    def check(self) -> None:
        """Refuse a run that cannot start."""
        if not self.data.train:
            raise ConfigError("data.train is required: at least one data set")
        if not self.run.folder:
            raise ConfigError("run.folder is required")
        if not self.training.patches and not self.training.minutes:
            raise ConfigError("training.patches or training.minutes is required")
        self._check_applicable()

    def _check_applicable(self) -> None:
        """Refuse settings that have no effect on this kind of network."""
        kind = self.model.network().network
        defaults = {entry.name: entry.default for entry in fields(self.training)}
        for name, kinds in FOR_SOME.items():
            if kind not in kinds and getattr(self.training, name) != defaults[name]:
                raise ConfigError(
                    f"training.{name} applies to {' and '.join(kinds)} only, not to {self.model.architecture}"
                )


def read_config(path: Path, changes: Sequence[str] = ()) -> TrainConfig:
    """Read a TOML file; `changes` are `section.key=value` from the command line and override it."""
    given = read_toml(path)
    for change in changes:
        _apply(given, change)
    return from_dict(given)


def _apply(given: dict[str, Any], change: str) -> None:
    key, equals, text = change.partition("=")
    *sections, name = key.strip().split(".")
    if not equals or len(sections) > 1:
        raise ConfigError(f"--set {quoted(change)}: expected section.key=value")
    value = parse_value(text, f"--set {quoted(change)}")
    target = given
    for section in sections:
        target = target.setdefault(section, {})
        if not isinstance(target, dict):
            raise ConfigError(f"--set {quoted(change)}: {quoted(section)} is not a section")
    target[name] = value


def from_dict(given: Mapping[str, Any]) -> TrainConfig:
    """Build settings from plain values, refusing unknown keys and wrong types."""
    known = {"name", "model", "data", "training", "run"}
    if unknown := sorted(given.keys() - known):
        raise ConfigError(f"unknown setting {quoted(unknown[0])!r}; the settings are {', '.join(sorted(known))}")
    name = given.get("name", "model")
    if not isinstance(name, str) or not name:
        raise ConfigError(f"name is {quoted(repr(name))}; it must be a non-empty string")
    if not isinstance(given.get("training", {}), Mapping):
        raise ConfigError(f"training is {quoted(repr(given['training']))}; it must be a section, [training]")
    training = dict(given.get("training", {}))
    recipe = training.get("recipe", "short")
    if not isinstance(recipe, str) or recipe not in RECIPES:
        raise ConfigError(f"training.recipe is {quoted(repr(recipe))}; choose one of {', '.join(RECIPES)}")
    model = _section(ModelSettings, given.get("model", {}), "model")
    defaults = RECIPES[recipe][model.network().network]
    if "minutes" in training or "patches" in training:
        defaults = {key: value for key, value in defaults.items() if key != "patches"}
    return TrainConfig(
        name,
        model,
        _section(DataSettings, given.get("data", {}), "data"),
        _section(TrainingSettings, defaults | training, "training"),
        _section(RunSettings, given.get("run", {}), "run"),
    )


def _section(kind: type[Section], given: Any, name: str) -> Section:
    if not isinstance(given, Mapping):
        raise ConfigError(f"{name} is {quoted(repr(given))}; it must be a section, [{name}]")
    hints = get_type_hints(kind)
    values = {}
    for key, value in given.items():
        if key not in hints:
            raise ConfigError(f"unknown setting {name}.{quoted(key)}; the settings are {', '.join(hints)}")
        values[key] = _typed(value, hints[key], f"{name}.{key}")
    return kind(**values)


def _typed(value: Any, wanted: Any, key: str) -> Any:
    if wanted in (tuple[str, ...], tuple[float, ...]):
        items = value if isinstance(value, list | tuple) else [value]
        return tuple(_typed(item, str if wanted == tuple[str, ...] else float, key) for item in items)
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, wanted) or (wanted is not bool and isinstance(value, bool)):
        raise ConfigError(f"{key} is {quoted(repr(value))}; it must be {TYPE_NAMES[wanted]}")
    return value
