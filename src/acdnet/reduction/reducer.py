"""The way of a slice: HU and metal -> projection -> first image -> method -> change in HU. The metal is not touched.

LI, or the trace fit that a network may begin with instead, is computed as for the `clinical` training pairs: by
`Measured.from_image`, in a geometry with the slice's own pixel size. Networks then work on the slice's own grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from acdnet.baselines.method import METHODS, Method, method
from acdnet.config import NETWORKS
from acdnet.errors import ConfigError
from acdnet.model.acdnet import ACDNet, Decomposition
from acdnet.model.border import decompose_hu, in_range, to_hu, to_network
from acdnet.model.inference import InferenceACDNet
from acdnet.physics.beside import given_back
from acdnet.physics.geometry import FanBeam
from acdnet.physics.measured import Measured
from acdnet.reduction.doubt import expected_error
from acdnet.reduction.grid import SquareGrid
from acdnet.units import TWELVE_BITS_HU
from acdnet.weights.card import read_card
from acdnet.weights.load import read_model
from acdnet.weights.networks import Network
from acdnet.weights.shipped import find_model, find_rival, shipped_models

Image = NDArray[np.float32]
Mask = NDArray[np.bool_]
KINDS = tuple(dict.fromkeys(config.network for config in NETWORKS.values()))
"""Networks by kind: ACDNet, and those it is compared with."""


@dataclass(frozen=True)
class Outcome:
    """What a method made of a slice: the change in HU, 0 in the metal; and its expected error, if it knows it."""

    change: Image
    doubt: Image | None = None


Run = Callable[[Image, Mask, tuple[float, float]], Outcome]


@dataclass(frozen=True)
class Reducer:
    """A method, ready to be used."""

    name: str
    label: str
    """For people: the name, and that of the model."""
    identity: str
    """What decides its numbers: the name, or the hash of the weights."""
    run: Run
    device: str = "cpu"


def make_reducer(name: str, model: str = "default", device: str = "auto") -> Reducer:
    """Find a method by name; `model` is the name or the file of a network's weights."""
    check_method(name)
    if name in METHODS:
        return Reducer(name, name.upper(), name, partial(_from_measured, method(name)))
    path = find_rival(name) if name != "acdnet" and model == "default" else find_model(model)
    network, card = read_model(path)
    if card.config.network != name:
        raise ConfigError(f"{path}: is a model of {card.config.network}, not of {name}; choose with --method")
    chosen = choose_device(device)
    label, run = _prepare(network.to(chosen))
    return Reducer(name, f"{label} ({card.name})", card.sha256, run, chosen.split(":")[0])


def _prepare(network: Network) -> tuple[str, Run]:
    """Return what people call a network, and what it does with a slice."""
    if isinstance(network, ACDNet):
        return "ACDNet", partial(_network, InferenceACDNet(network))
    from acdnet.rivals.run import LABELS, run_rival

    return LABELS[network.config.network], partial(_from_measured, partial(run_rival, network))


def check_method(name: str) -> None:
    """Refuse a name that no method has."""
    known = [*KINDS, *(known for known in METHODS if known != "input")]
    if name in shipped_models() and name not in known:
        kind = read_card(find_model(name)).config.network
        raise ConfigError(f"{name!r} is a model, not a method: --method {kind} --model {name}")
    if name not in known:
        raise ConfigError(f"no method {name!r}; there are {', '.join(known)}")


def choose_device(device: str) -> str:
    """Return the device to compute on; `auto` takes a GPU where there is one."""
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        found = torch.device(device)
    except RuntimeError as error:
        raise ConfigError(f"no device {device!r}; auto, cpu, cuda, cuda:1 are understood") from error
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"device {device!r} is not there; --device cpu works everywhere")
    return device


def reduce_slice(reducer: Reducer, hu: Image, metal: Mask, spacing_mm: tuple[float, float]) -> Outcome:
    """Reduce one slice. Under the metal it may hold anything; there the change is 0.

    Where the slice holds no number the change is the new value itself: that of LI.
    """
    bad = ~np.isfinite(hu)
    if not bad.any():
        return reducer.run(hu, metal, spacing_mm)
    filled = np.where(bad, np.float32(TWELVE_BITS_HU), hu)
    outcome = reducer.run(filled, metal, spacing_mm)
    li = filled + _from_measured(method("li"), filled, metal, spacing_mm, inside=True).change
    return replace(outcome, change=np.where(bad, li, outcome.change))


def _prepared(hu: Image, metal: Mask, spacing_mm: tuple[float, float]) -> tuple[SquareGrid, Measured]:
    grid = SquareGrid((hu.shape[0], hu.shape[1]), spacing_mm)
    square_metal = metal_there(grid, metal)
    return grid, Measured.from_image(grid.there(hu), square_metal, FanBeam.around(grid.size, grid.pixel_mm / 10))


def metal_there(grid: SquareGrid, metal: Mask) -> Mask:
    """Bring a mask to the square; a pixel that is half metal is metal."""
    return np.asarray(grid.there(metal.astype(np.float32), outside=0.0) >= 0.5)


def _from_measured(
    run: Method, hu: Image, metal: Mask, spacing_mm: tuple[float, float], inside: bool = False
) -> Outcome:
    grid, measured = _prepared(hu, metal, spacing_mm)
    image = grid.restored(run(measured), hu, measured.image, metal)
    return Outcome(image - hu if inside else _outside(image - hu, metal))


def _network(model: InferenceACDNet, hu: Image, metal: Mask, spacing_mm: tuple[float, float]) -> Outcome:
    found = look_inside(model, hu, metal, spacing_mm)
    change = found_change(model, found, hu, metal, spacing_mm)
    return Outcome(change, expected_error(found, to_network(hu).to(found.image.device), metal))


def found_change(
    model: InferenceACDNet, found: Decomposition, hu: Image, metal: Mask, spacing_mm: tuple[float, float]
) -> Image:
    """Return the change in HU that `reduce` makes of a decomposition; 0 in the metal."""
    change = _outside(to_hu(found.image) - in_range(hu), metal)  # what lies beyond the network's range stays beyond it
    if model.config.last == "none":
        return change
    grid = SquareGrid((hu.shape[0], hu.shape[1]), spacing_mm)
    geometry = FanBeam.around(grid.size, grid.pixel_mm / 10)
    back = given_back(grid.there(-change, outside=0.0), metal_there(grid, metal), geometry)
    return _outside(change + grid.back(back), metal)


def look_inside(
    model: InferenceACDNet, hu: Image, metal: Mask, spacing_mm: tuple[float, float], details: bool = False
) -> Decomposition:
    """Decompose a slice as `reduce` does; `details` adds what every stage found."""
    grid, measured = _prepared(hu, metal, spacing_mm)
    first = grid.restored(method(model.config.first)(measured), hu, measured.image, metal)
    return decompose_hu(model, hu, first, metal, details)


def _outside(change: Image, metal: Mask) -> Image:
    return np.where(metal, np.float32(0.0), change).astype(np.float32)
