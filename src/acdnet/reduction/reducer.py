"""The way of a slice: HU and metal -> projection -> LI -> method -> change in HU. The metal is not touched.

LI is computed as for the `clinical` training pairs: by `Measured.from_image`, in a geometry with the slice's own pixel
size. Networks then work on the slice's own grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from acdnet.baselines.method import METHODS, method
from acdnet.errors import ConfigError
from acdnet.model.border import decompose_hu, to_hu, to_network
from acdnet.model.inference import InferenceACDNet
from acdnet.physics.geometry import FanBeam
from acdnet.physics.measured import Measured
from acdnet.reduction.doubt import expected_error
from acdnet.reduction.grid import SquareGrid
from acdnet.units import TWELVE_BITS_HU
from acdnet.weights.card import read_card
from acdnet.weights.load import load_model
from acdnet.weights.shipped import find_model

Image = NDArray[np.float32]
Mask = NDArray[np.bool_]
NETWORKS = ("acdnet",)


@dataclass(frozen=True)
class Outcome:
    """What a method made of a slice: the change in HU, 0 in the metal; and its expected error, if it knows it."""

    change: Image
    doubt: Image | None = None


@dataclass(frozen=True)
class Reducer:
    """A method, ready to be used."""

    name: str
    label: str
    """For people: the name, and that of the model."""
    identity: str
    """What decides its numbers: the name, or the hash of the weights."""
    run: Callable[[Image, Mask, tuple[float, float]], Outcome]
    device: str = "cpu"


def make_reducer(name: str, model: str = "default", device: str = "auto") -> Reducer:
    """Find a method by name; `model` is the name or the file of a network's weights."""
    check_method(name)
    if name in METHODS:
        return Reducer(name, name.upper(), name, partial(_classical, name))
    path = find_model(model)
    card = read_card(path)
    chosen = choose_device(device)
    network = load_model(path, device=chosen)
    return Reducer(name, f"ACDNet ({card.name})", card.sha256, partial(_network, network), chosen.split(":")[0])


def check_method(name: str) -> None:
    """Refuse a name that no method has."""
    known = [*NETWORKS, *(known for known in METHODS if known != "input")]
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
    li = filled + _classical("li", filled, metal, spacing_mm, inside=True).change
    return replace(outcome, change=np.where(bad, li, outcome.change))


def _prepared(hu: Image, metal: Mask, spacing_mm: tuple[float, float]) -> tuple[SquareGrid, Measured]:
    grid = SquareGrid((hu.shape[0], hu.shape[1]), spacing_mm)
    square_metal = metal_there(grid, metal)
    return grid, Measured.from_image(grid.there(hu), square_metal, FanBeam.around(grid.size, grid.pixel_mm / 10))


def metal_there(grid: SquareGrid, metal: Mask) -> Mask:
    """Bring a mask to the square; a pixel that is half metal is metal."""
    return np.asarray(grid.there(metal.astype(np.float32), outside=0.0) >= 0.5)


def _classical(name: str, hu: Image, metal: Mask, spacing_mm: tuple[float, float], inside: bool = False) -> Outcome:
    grid, measured = _prepared(hu, metal, spacing_mm)
    image = grid.restored(method(name)(measured), hu, measured.image, metal)
    return Outcome(image - hu if inside else _outside(image - hu, metal))


def _network(model: InferenceACDNet, hu: Image, metal: Mask, spacing_mm: tuple[float, float]) -> Outcome:
    grid, measured = _prepared(hu, metal, spacing_mm)
    li = grid.restored(method("li")(measured), hu, measured.image, metal)
    found = decompose_hu(model, hu, li, metal)
    Y = to_network(hu).to(found.image.device)
    change = to_hu(found.image) - to_hu(Y)  # in the network's range: what lies beyond it stays beyond it
    return Outcome(_outside(change, metal), expected_error(found, Y, metal))


def _outside(change: Image, metal: Mask) -> Image:
    return np.where(metal, np.float32(0.0), change).astype(np.float32)
