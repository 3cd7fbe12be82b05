"""The stages of ACDNet on one slice: image, artifact, residual, maps and kernels after every stage."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused, ResourceError
from acdnet.io.slices import Image
from acdnet.viewer.view_model import ViewModel

if TYPE_CHECKING:
    from acdnet.methods.acdnet import ACDNetMethod

MAX_CACHED = 2
"""Slices whose stages stay in memory, over all results."""
MAP_STEPS = 10_000
"""Maps have no unit; they are sent as integers with this peak."""
WHITE_PERCENTILE = 99.8
"""Percentile of a map that is displayed white."""


class Busy(ResourceError):
    """The network is computing another slice; ask again in a moment."""


@dataclass(frozen=True)
class Stages:
    """Everything the network computed for a slice. Images are in HU; maps and kernels have no unit."""

    images: list[Image]
    """The start, the image after every stage, and the final image."""
    artifacts: list[Image]
    residuals: list[Image]
    """Y - X - A outside the metal."""
    maps: list[NDArray[np.float32]]
    kernels: list[NDArray[np.float32]]
    weights: list[NDArray[np.float32]]
    dictionary: NDArray[np.float32]


@dataclass(eq=False)
class Owner:
    """Identity of a result in the cache; nothing is kept for a closed one."""

    closed: bool = False


Key = tuple[Owner, int]


class StageCache:
    """Computes stages one slice at a time and keeps the most recent ones."""

    def __init__(self) -> None:
        self.lock, self.working = Lock(), Lock()
        self.kept: OrderedDict[Key, Stages] = OrderedDict()
        self.loaded: tuple[Path, ACDNetMethod] | None = None

    def get(self, key: Key) -> Stages | None:
        with self.lock:
            if key in self.kept:
                self.kept.move_to_end(key)
            return self.kept.get(key)

    def compute(self, key: Key, compute: Callable[[], Stages]) -> Stages:
        """Compute stages; raise Busy during another computation, since waiting here would block a server thread."""
        if not self.working.acquire(blocking=False):
            raise Busy("the network is busy with another slice; try again in a moment")
        try:
            if (stages := self.get(key)) is not None:
                return stages  # another request computed them
            self._shrink(MAX_CACHED - 1)
            stages = compute()
            with self.lock:
                if not key[0].closed:
                    self.kept[key] = stages
            return stages
        finally:
            self.working.release()

    def _shrink(self, size: int) -> None:
        with self.lock:
            while len(self.kept) > size:
                self.kept.popitem(last=False)

    def close(self, owner: Owner) -> None:
        """Drop everything kept for a result, also what is still being computed."""
        with self.lock:
            owner.closed = True
            for key in [key for key in self.kept if key[0] is owner]:
                del self.kept[key]

    def method(self, path: Path) -> ACDNetMethod:
        """Load a network as the method that reduced the scan; the last one stays loaded."""
        from acdnet.methods.acdnet import ACDNetMethod
        from acdnet.weights.load import read_acdnet

        if self.loaded is None or self.loaded[0] != path:
            self.loaded = path, ACDNetMethod(*read_acdnet(path))
        return self.loaded[1]


class StageView:
    """The stages of the slices of one result, computed on demand."""

    def __init__(self, result: ViewModel, model: str = "", cache: StageCache | None = None) -> None:
        self.result, self.model, self.cache = result, model, cache or StageCache()
        self.owner = Owner()

    def why_unavailable(self) -> str:
        """Return why the stages cannot be shown; empty if they can."""
        try:
            self._weights_path()
        except InputRefused as error:
            return str(error)
        return ""

    def _weights_path(self) -> Path:
        from acdnet.config import ACDNetConfig
        from acdnet.weights.card import read_card
        from acdnet.weights.shipped import find_model, shipped_cards

        if reason := self.result.why_no_stages():
            raise InputRefused(reason)
        weights = self.result.report.get("weights", "")
        if self.model:
            path = find_model(self.model)
            if read_card(path).sha256 != weights:
                raise InputRefused(f"{self.model}: is not the model that produced this result")
            return path
        for card, path, _ in shipped_cards():
            if card.sha256 == weights and isinstance(card.config, ACDNetConfig):
                return path
        raise InputRefused("this result was made with a model that is not shipped; pass its file with --model")

    def stages(self, number: int) -> Stages:
        """Return the stages of a slice; refuse slices that the network did not reduce."""
        if reason := self.result.why_no_stages_of(number):
            raise InputRefused(reason)
        key = self.owner, number
        stages = self.cache.get(key)
        return stages if stages is not None else self.cache.compute(key, partial(self._compute, number))

    def close(self) -> None:
        """Drop everything kept for this result."""
        self.cache.close(self.owner)

    def _compute(self, number: int) -> Stages:
        from acdnet.methods.hu_adapter import to_hu
        from acdnet.physics.measurement import Measurement
        from acdnet.units import HU_PER_UNIT, TWELVE_BITS_HU

        method = self.cache.method(self._weights_path())
        metal, spacing = self.result.metal(number), self.result.plane(number).spacing_mm
        assert metal is not None  # slices without metal have no stages
        assert spacing is not None  # known for every reduced scan
        hu = self.result.image(number, "before")
        hu = np.where(np.isfinite(hu), hu, np.float32(TWELVE_BITS_HU))  # the value that `reduce` uses
        (reduction,) = method.decompose([Measurement(hu, metal, spacing)])
        found = reduction.decomposition
        assert found is not None
        images = [to_hu(image) for image in found.images]
        images.append(np.where(metal, hu, reduction.image_hu))
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
            method.dictionary,
        )

    def describe(self, number: int) -> dict[str, Any]:
        """Return the small data of a slice: counts, dictionary, kernels, mixing weights, residual by stage."""
        found = self.stages(number)
        return {
            "stages": len(found.artifacts),
            "images": len(found.images),
            "maps": len(found.maps[0]),
            "map_peaks": [[_peak(m) for m in maps] for maps in found.maps],
            "map_white": [[float(np.percentile(m, WHITE_PERCENTILE)) / _peak(m) for m in maps] for maps in found.maps],
            "residual_hu": [float(np.sqrt(np.mean(r**2))) for r in found.residuals],
            "dictionary": _rounded(found.dictionary),
            "kernels": [_rounded(kernels) for kernels in found.kernels],
            "weights": [_rounded(K) for K in found.weights],
        }

    def image(self, number: int, kind: str, t: int, n: int = 0) -> Image:
        """Return the image, artifact or residual of stage t, or its map n scaled to a peak of MAP_STEPS."""
        found = self.stages(number)
        kinds = {name: getattr(found, name) for name in ("images", "artifacts", "residuals", "maps")}
        series = kinds.get(kind, [])
        if not 0 <= t < len(series):
            raise InputRefused(f"no {kind:.40} of stage {t}")
        image: NDArray[np.float32] = series[t]
        if kind == "maps":
            if not 0 <= n < len(image):
                raise InputRefused(f"no map {n}; there are {len(image)}")
            image = np.asarray(image[n] * (MAP_STEPS / _peak(image[n])), np.float32)
        return image


def _peak(values: NDArray[Any]) -> float:
    return float(np.abs(values).max()) or 1.0


def _rounded(values: NDArray[Any]) -> Any:
    return np.round(values.astype(float), 5).tolist()
