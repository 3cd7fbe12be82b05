"""Classical methods as methods of the registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from acdnet.methods.bhc import bhc
from acdnet.methods.li import li
from acdnet.methods.method import BaseMethod, Reduction
from acdnet.methods.nmar import nmar, nmar_raw
from acdnet.methods.trace_fit import trace_fits
from acdnet.physics.measurement import Measurement, prepare
from acdnet.units import Image


def one_by_one(function: Callable[[Measurement], Image]) -> Callable[[Sequence[Measurement]], list[Image]]:
    """Extend a function of one slice to several."""
    return lambda measurements: [function(one) for one in measurements]


FUNCTIONS: dict[str, Callable[[Sequence[Measurement]], list[Image]]] = {
    "li": one_by_one(li),
    "bhc": one_by_one(bhc),
    "nmar": one_by_one(nmar),
    "nmar-raw": one_by_one(nmar_raw),
    "tracefit": trace_fits,
}
"""Each maps measurements to images on the square, in HU."""


class ClassicalMethod(BaseMethod):
    """A classical method. Precomputed images of a measurement are used as they are."""

    def __init__(self, name: str, label: str, device: str = "cpu") -> None:
        self.name, self.label, self.function = name, label, FUNCTIONS[name]
        self.device = torch.device(device)

    def batch(self, measurements: Sequence[Measurement]) -> list[Reduction]:
        """Reduce several slices."""
        missing = [one for one in measurements if self.name not in one.given]
        prepare(missing)
        made = iter(self.function(missing))
        return [
            Reduction(one.given[self.name] if self.name in one.given else one.to_slice(next(made)))
            for one in measurements
        ]


class InputMethod(BaseMethod):
    """The uncorrected slice, for comparison."""

    name, label = "input", "Input"

    def batch(self, measurements: Sequence[Measurement]) -> list[Reduction]:
        """Return the slices unchanged."""
        return [Reduction(one.slice_hu) for one in measurements]
