"""The settings of a training run: a TOML file, checked key by key, with recipes for what is not said.

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
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from acdnet.config import NETWORKS, ACDNetConfig, NetworkConfig
from acdnet.errors import ConfigError, check_limits
from acdnet.files import read_limited
from acdnet.train.loss import L1_WEIGHT, MU_STAGE
from acdnet.train.recipes import CHOICES, FOR_SOME, MOST_TOGETHER, RECIPES

LARGEST_FILE = 2**20
SMALLEST_GRID = 32
UNSAID = -(2**31)
"""Stands for a size of the network that is left to its architecture."""
SIZES = ("T", "N", "d", "p", "N_p", "blocks", "order", "coarse", "first", "last", "width", "layers")
Section = TypeVar("Section")


@dataclass(frozen=True)
class ModelSettings:
    """The network: a named architecture, and if wanted another value for one of its sizes."""

    architecture: str = "acdnet"
    start_from: str = ""
    """A model to begin with instead of random weights: a shipped name or a file; it may have fewer stages."""
    T: int = UNSAID
    N: int = UNSAID
    d: int = UNSAID
    p: int = UNSAID
    N_p: int = UNSAID
    blocks: int = UNSAID
    order: str = ""
    coarse: int = UNSAID
    first: str = ""
    last: str = ""
    width: int = UNSAID
    layers: int = UNSAID
    awaken: int = 0
    """Stages after so many begin as weak copies of the last clean-up of the image; 0: as start_from has them."""
    frugal: bool = False
    """Half the memory for a little more time."""
    bfloat16: bool = False
    """Convolutions of numbers of half the length in ACDNet's training on CPUs: faster on CPUs that know them."""

    def network(self) -> NetworkConfig:
        """Return the architecture with the sizes that were given."""
        if self.architecture not in NETWORKS:
            raise ConfigError(f"no architecture {self.architecture!r}; there are {', '.join(NETWORKS)}")
        known = NETWORKS[self.architecture]
        names = {entry.name for entry in fields(known)}
        given = {name: getattr(self, name) for name in SIZES if getattr(self, name) not in (UNSAID, "")}
        if wrong := sorted(given.keys() - names):
            raise ConfigError(f"model.{wrong[0]} is no size of {self.architecture}; it has {', '.join(sorted(names))}")
        return replace(known, **given)


@dataclass(frozen=True)
class DataSettings:
    """Where the pairs are: stores of `acdnet simulate`, or folders of the benchmark."""

    train: tuple[str, ...] = ()
    val: tuple[str, ...] = ()
    train_splits: tuple[str, ...] = ("train",)
    val_splits: tuple[str, ...] = ("val",)
    val_pairs: int = 16
    """Pairs that validation takes, evenly from all."""
    grid: int = 0
    """Side to which whole slices are brought, for the networks in both domains; 0: as they are."""

    def __post_init__(self) -> None:
        check_limits(self, {"val_pairs": (1, 10**9), "grid": (0, 2048)}, "data.")
        if 0 < self.grid < SMALLEST_GRID:
            raise ConfigError(f"data.grid is {self.grid}; it must be 0 or at least {SMALLEST_GRID}")


@dataclass(frozen=True)
class TrainingSettings:
    """How weights are learnt. A recipe gives the values that are not said."""

    recipe: str = "short"
    seed: int = 0
    patches: int = 0
    """Patches to see in all; one of patches and minutes is needed unless the recipe says."""
    minutes: float = 0.0
    """Time to spend; it becomes a number of patches once the speed is known."""
    batch: int = 8
    """Patches in a step, over all processes."""
    patch: int = 64
    together: int = 0
    """So many consecutive patches come from one pair and share its K; 0: as many as divide a batch, up to four."""
    rate: float = 1e-3
    warm_up: float = 0.03
    """Share of the run in which the rate rises to its peak."""
    schedule: str = "cosine"
    """cosine, or steps (halved at the given shares of the run)."""
    halve_at: tuple[float, ...] = ()
    final_share: float = 0.01
    """What the cosine leaves of the rate."""
    optimiser: str = "adam"
    """adam, or muon (`acdnet.train.muon`)."""
    beta1: float = 0.5
    beta2: float = 0.999
    clip: float = 100.0
    """Largest norm of the gradient; 0: no limit."""
    average: float = 0.998
    """Decay of the moving average of the weights; 0: none."""
    omega: float = L1_WEIGHT
    """Weight of absolute errors in the loss (omega_1, omega_2); squared ones have weight one."""
    mu: float = MU_STAGE
    """Weight in the loss of images and artifacts of the stages before the last (mu_t), whose own is one."""
    initial: str = "solver"
    """Values that ACDNet begins with: `published`, or `solver` (`acdnet.train.initial`)."""
    focus: float = 0.5
    """Share of the patches that are taken where the artifact is strong."""
    lesions: float = 0.0
    """Share of the patches into which small lesions are put, so that they are kept, and the weight of their pixels."""
    lesion_weight: float = 1.0
    faint: float = 0.0
    """Share of the patches whose artifact is made weaker, down to none, so that clean tissue is left alone."""
    bones: float = 0.0
    """Share of the patches whose bone is made denser or less dense, so that it is kept, and the weight of bone."""
    bone_weight: float = 1.0
    relative: bool = False
    """Take the logarithms of the errors of each patch, so that weak and strong artifacts count alike."""
    fixed_norms: bool = False
    """Normalise by the statistics of the model that the run begins with, as inference does."""

    def __post_init__(self) -> None:
        limits = {
            "batch": (1, 4096), "patch": (16, 1024), "rate": (1e-8, 1.0), "warm_up": (0.0, 0.9), "minutes": (0, 1e7),
            "final_share": (0.0, 1.0), "beta1": (0.0, 0.9999), "beta2": (0.0, 0.999999), "clip": (0.0, 1e9),
            "average": (0.0, 0.99999), "omega": (0.0, 1e9), "seed": (0, 2**63 - 1), "patches": (0, 1e12),
            "together": (0, 4096), "lesion_weight": (1, 1e3), "bone_weight": (1, 1e3),
            **dict.fromkeys(("mu", "focus", "lesions", "faint", "bones"), (0.0, 1.0)),
        }  # fmt: skip
        check_limits(self, limits, "training.")
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise ConfigError(f"training.{name} is {getattr(self, name)!r}; it is {' or '.join(known)}")


@dataclass(frozen=True)
class RunSettings:
    """Where a run lives and how often it stops to save and to score."""

    folder: str = ""
    checkpoint_minutes: float = 3.0
    validate_minutes: float = 20.0
    log_steps: int = 20
    loaders: int = 1
    """Threads that read patches."""
    device: str = "auto"
    devices: int = 1
    """Processes to start here; `torchrun` starts them itself."""

    def __post_init__(self) -> None:
        limits = {"log_steps": (1, 10**9), "loaders": (1, 64), "devices": (1, 1024)}
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
        """Return plain values, as TOML and JSON know them."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    def shared_by(self, processes: int) -> TrainConfig:
        """Return the settings with `together` decided for so many processes."""
        t = self.training
        most = MOST_TOGETHER if isinstance(self.model.network(), ACDNetConfig) else 1
        together = t.together or math.gcd(max(1, t.batch // processes), most)
        return replace(self, training=replace(t, together=together))

    def check(self) -> None:
        """Refuse a run that cannot start."""
        if not self.data.train:
            raise ConfigError("data.train is empty; name at least one store")
        if not self.run.folder:
            raise ConfigError("run.folder is not said; a run needs a folder")
        if not self.training.patches and not self.training.minutes:
            raise ConfigError("neither training.patches nor training.minutes is said; a run needs an end")
        self._check_heard()

    def _check_heard(self) -> None:
        """Refuse settings that the network would not listen to."""
        kind = self.model.network().network
        for (section, name), kinds in FOR_SOME.items():
            settings = getattr(self, section)
            unsaid = next(entry.default for entry in fields(settings) if entry.name == name)
            if kind not in kinds and getattr(settings, name) != unsaid:
                raise ConfigError(f"{section}.{name} is for {' and '.join(kinds)}, not for {self.model.architecture}")


def read_config(path: Path, changes: Sequence[str] = ()) -> TrainConfig:
    """Read a TOML file; `changes` are `section.key=value` from the command line and win over it."""
    try:
        given = tomllib.loads(read_limited(path, LARGEST_FILE).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not TOML ({error})") from error
    for change in changes:
        _apply(given, change)
    return from_dict(given)


def _apply(given: dict[str, Any], change: str) -> None:
    key, equals, text = change.partition("=")
    *sections, name = key.strip().split(".")
    if not equals or len(sections) > 1:
        raise ConfigError(f"--set {change!r}: write section.key=value")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    target = given
    for section in sections:
        target = target.setdefault(section, {})
        if not isinstance(target, dict):
            raise ConfigError(f"--set {change!r}: {section} is not a section")
    target[name] = value


def from_dict(given: Mapping[str, Any]) -> TrainConfig:
    """Build settings from plain values, refusing unknown keys and wrong types."""
    known = {"name", "model", "data", "training", "run"}
    if unknown := sorted(given.keys() - known):
        raise ConfigError(f"no setting {unknown[0]!r}; there are {', '.join(sorted(known))}")
    name = given.get("name", "model")
    if not isinstance(name, str) or not name:
        raise ConfigError(f"name is {name!r}; it must be a text")
    if not isinstance(given.get("training", {}), Mapping):
        raise ConfigError(f"training is {given['training']!r}; it must be a section, [training]")
    training = dict(given.get("training", {}))
    recipe = training.get("recipe", "short")
    if not isinstance(recipe, str) or recipe not in RECIPES:
        raise ConfigError(f"no recipe {recipe!r}; there are {', '.join(RECIPES)}")
    model = _section(ModelSettings, given.get("model", {}), "model")
    ours = RECIPES[recipe][model.network().network]
    if "minutes" in training or "patches" in training:
        ours = {key: value for key, value in ours.items() if key != "patches"}
    return TrainConfig(
        name,
        model,
        _section(DataSettings, given.get("data", {}), "data"),
        _section(TrainingSettings, ours | training, "training"),
        _section(RunSettings, given.get("run", {}), "run"),
    )


def _section(kind: type[Section], given: Any, name: str) -> Section:
    if not isinstance(given, Mapping):
        raise ConfigError(f"{name} is {given!r}; it must be a section, [{name}]")
    hints = get_type_hints(kind)
    values = {}
    for key, value in given.items():
        if key not in hints:
            raise ConfigError(f"no setting {name}.{key}; there are {', '.join(hints)}")
        values[key] = _typed(value, hints[key], f"{name}.{key}")
    return kind(**values)


def _typed(value: Any, wanted: Any, key: str) -> Any:
    if wanted in (tuple[str, ...], tuple[float, ...]):
        items = value if isinstance(value, list | tuple) else [value]
        return tuple(_typed(item, str if wanted == tuple[str, ...] else float, key) for item in items)
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, wanted) or (wanted is not bool and isinstance(value, bool)):
        raise ConfigError(f"{key} is {value!r}; it must be a {wanted.__name__}")
    return value
