"""Inside the network: what every stage made of a slice."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused, ResourceError
from acdnet.viewer.layer import Image, Result

KEPT = 2
"""Slices whose stages are kept in memory, of all results together."""
MAP_STEPS = 10_000
"""Maps have no unit and any size; they are sent as whole numbers up to this one."""
BRIGHT = 99.8
"""Per cent of a map that are not brighter than what is shown as white."""


class Busy(ResourceError):
    """The network is at work for somebody else; ask again in a moment."""


@dataclass(frozen=True)
class Stages:
    """What the network made of a slice: HU, and maps and kernels without a unit."""

    images: list[Image]
    """The start, after every stage, and after the last clean-up."""
    artifacts: list[Image]
    residuals: list[Image]
    """Y - X - A, without the metal."""
    maps: list[NDArray[np.float32]]
    kernels: list[NDArray[np.float32]]
    weights: list[NDArray[np.float32]]
    dictionary: NDArray[np.float32]


@dataclass(eq=False)
class Owner:
    """Whose stages they are; nothing is kept for one that was closed."""

    closed: bool = False


Key = tuple[Owner, int]


class Desk:
    """Where stages are computed: one slice at a time, whoever asks; and where the last of them are kept."""

    def __init__(self) -> None:
        self.lock, self.working = Lock(), Lock()
        self.kept: OrderedDict[Key, Stages] = OrderedDict()
        self.loaded: tuple[Any, Any] = (None, None)

    def find(self, key: Key) -> Stages | None:
        with self.lock:
            if key in self.kept:
                self.kept.move_to_end(key)
            return self.kept.get(key)

    def work(self, key: Key, compute: Callable[[], Stages]) -> Stages:
        """Compute stages, or say that something else is being computed: whoever waits here would hold up others."""
        if not self.working.acquire(blocking=False):
            raise Busy("the network is working on another slice; ask again in a moment")
        try:
            if (found := self.find(key)) is not None:
                return found  # it was finished just now
            self._make_room(KEPT - 1)
            found = compute()
            with self.lock:
                if not key[0].closed:
                    self.kept[key] = found
            return found
        finally:
            self.working.release()

    def _make_room(self, most: int) -> None:
        with self.lock:
            while len(self.kept) > most:
                self.kept.popitem(last=False)

    def forget(self, owner: Owner) -> None:
        """Drop all that is kept of a result, for good."""
        with self.lock:
            owner.closed = True
            for key in [key for key in self.kept if key[0] is owner]:
                del self.kept[key]

    def model(self, path: Path) -> Any:
        """Return a network and its quick form; the last one is kept."""
        from acdnet.model.inference import InferenceACDNet
        from acdnet.weights.load import read_acdnet

        if self.loaded[0] != path:
            network, _ = read_acdnet(path)
            self.loaded = path, (network, InferenceACDNet(network))
        return self.loaded[1]


class Inside:
    """The stages of the slices of one result, computed when they are asked for."""

    def __init__(self, result: Result, model: str = "", desk: Desk | None = None) -> None:
        self.result, self.named, self.desk = result, model, desk or Desk()
        self.owner = Owner()

    def why_not(self) -> str:
        """Return why the stages cannot be shown; nothing if they can."""
        try:
            self._path()
        except InputRefused as error:
            return str(error)
        return ""

    def _path(self) -> Path:
        from acdnet.config import ACDNetConfig
        from acdnet.weights.card import read_card
        from acdnet.weights.shipped import find_model, shipped_cards

        if reason := self.result.why_no_stages():
            raise InputRefused(reason)
        weights = self.result.report.get("weights", "")
        if self.named:
            path = find_model(self.named)
            if read_card(path).sha256 != weights:
                raise InputRefused(f"{self.named}: is not the model that this result was made with")
            return path
        for card, path, _ in shipped_cards():
            if card.sha256 == weights and isinstance(card.config, ACDNetConfig):
                return path
        raise InputRefused("the model of this result is not among the shipped ones; name its file with --model")

    def stages(self, number: int) -> Stages:
        """Return the stages of a slice; refuse one whose result they did not make."""
        if reason := self.result.why_not_this(number):
            raise InputRefused(reason)
        key = self.owner, number
        found = self.desk.find(key)
        return found if found is not None else self.desk.work(key, partial(self._compute, number))

    def forget(self) -> None:
        """Drop what is kept of this result."""
        self.desk.forget(self.owner)

    def _compute(self, number: int) -> Stages:
        from acdnet.reduction.reducer import found_change, look_inside
        from acdnet.units import HU_PER_UNIT, TWELVE_BITS_HU, hu_from_network

        path = self._path()
        metal = self.result.metal(number)
        assert metal is not None  # without metal there is nothing to look into
        model, fast = self.desk.model(path)
        spacing = self.result.plane(number).spacing_mm
        assert spacing is not None  # of what was reduced it is known
        hu = self.result.image(number, "before")
        hu = np.where(np.isfinite(hu), hu, np.float32(TWELVE_BITS_HU))  # as `reduce` fills what is no number
        found = look_inside(fast, hu, metal, spacing, details=True)
        images = [hu_from_network(image[0, 0]).numpy() for image in found.images]
        images.append(hu + found_change(fast, found, hu, metal, spacing))
        artifacts = [(artifact[0, 0] * HU_PER_UNIT).numpy() for artifact in found.artifacts]
        residuals = [
            np.where(metal, 0.0, hu - image - artifact).astype(np.float32)
            for image, artifact in zip(images[1:], artifacts, strict=False)
        ]
        return Stages(
            images,
            artifacts,
            residuals,
            [maps[0].numpy() for maps in found.M],
            [kernels[0].numpy() for kernels in found.kernels],
            [K[0].numpy() for K in found.K],
            model.D.detach().numpy(),
        )

    def describe(self, number: int) -> dict[str, Any]:
        """Return the small things of a slice: sizes, dictionary, kernels, mixing weights, residual by stage."""
        found = self.stages(number)
        return {
            "stages": len(found.artifacts),
            "images": len(found.images),
            "maps": len(found.maps[0]),
            "map_peaks": [[_peak(m) for m in maps] for maps in found.maps],
            "map_bright": [[float(np.percentile(m, BRIGHT)) / _peak(m) for m in maps] for maps in found.maps],
            "residual_hu": [float(np.sqrt(np.mean(r**2))) for r in found.residuals],
            "dictionary": _rounded(found.dictionary),
            "kernels": [_rounded(kernels) for kernels in found.kernels],
            "weights": [_rounded(K) for K in found.weights],
        }

    def image(self, number: int, kind: str, t: int, n: int = 0) -> Image:
        """Return the image or artifact of stage t, its residual, or its map n in parts of its peak."""
        found = self.stages(number)
        shown = {name: getattr(found, name) for name in ("images", "artifacts", "residuals", "maps")}.get(kind, [])
        if not 0 <= t < len(shown):
            raise InputRefused(f"no {kind:.40} of stage {t}")
        image: NDArray[np.float32] = shown[t]
        if kind == "maps":
            if not 0 <= n < len(image):
                raise InputRefused(f"no map {n}")
            image = np.asarray(image[n] * (MAP_STEPS / _peak(image[n])), np.float32)
        return image


def _peak(values: NDArray[Any]) -> float:
    return float(np.abs(values).max()) or 1.0


def _rounded(values: NDArray[Any]) -> Any:
    return np.round(values.astype(float), 5).tolist()
