"""A whole slice by tensor operations, as on a GPU, against the compiled loops of a CPU: `python -m benchmarks.device`.

Both run here, on the CPU: the numbers must agree, and the times show what the compiled loops gain. The speed of the
tensor operations on a GPU was not measured.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from unittest.mock import patch

import numpy as np

from acdnet.methods.method import Image
from acdnet.methods.registry import get_method
from acdnet.physics import projector
from acdnet.physics.implants.anatomy import find_anatomy
from acdnet.physics.implants.draw import draw_implant
from acdnet.physics.measurement import Measurement
from acdnet.physics.phantom import make_phantom
from acdnet.physics.simulate import simulate
from benchmarks.harness import Table, alternate, main

METHODS = ("li", "nmar", "tracefit", "acdnet")
EVERY = 4
"""Only every fourth pixel of the phantom is used: tensor operations take minutes for a whole slice on a CPU."""
COLUMNS = ("method", "compiled loops", "tensor operations", "ratio", "largest difference")


def make_slice() -> Measurement:
    """Return a phantom's slice with a hip prosthesis."""
    phantom = make_phantom("pelvis", 3)
    implant = draw_implant(find_anatomy(phantom.hu, phantom.pixel_mm), np.random.default_rng(3), ("hip-cup",))
    made = simulate(phantom.hu, implant.mask, "clinical", 3, phantom.pixel_mm, "CoCrMo")
    small, metal = made.corrupted[::EVERY, ::EVERY], made.metal[::EVERY, ::EVERY]
    return Measurement(small, metal, (EVERY * phantom.pixel_mm, EVERY * phantom.pixel_mm))


def reducer(name: str, slice_: Measurement, compiled: bool) -> Callable[[], Image]:
    """Return what reduces the slice, whose rays are projected each time."""
    method = get_method(name, "cpu")

    def run() -> Image:
        fresh = Measurement(slice_.slice_hu, slice_.slice_metal, slice_.spacing_mm)
        with nullcontext() if compiled else patch.object(projector, "_compiled", lambda _: False):
            return method(fresh).image_hu

    return run


def measure() -> Table:
    """Reduce a slice both ways."""
    slice_, rows = make_slice(), []
    for name in METHODS:
        loops, tensors = (reducer(name, slice_, compiled) for compiled in (True, False))
        seconds = alternate({"loops": loops, "tensors": tensors}, 1)
        off = float(np.abs(loops() - tensors())[~slice_.slice_metal].max())
        times = f"{seconds['loops']:.2f} s", f"{seconds['tensors']:.2f} s"
        rows.append([name, *times, f"{seconds['tensors'] / seconds['loops']:.1f} x", f"{off:.3f} HU"])
    return Table(COLUMNS, rows)


if __name__ == "__main__":
    main(measure)
