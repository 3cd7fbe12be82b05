"""A whole slice by tensor operations, as on a GPU, against the compiled loops of a CPU: `python -m benchmarks.device`.

Both run here, on the CPU: the numbers must agree, and the times say what the compiled loops gain. How fast the tensor
operations are on a GPU was not measured.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from rich.console import Console
from rich.table import Table

from acdnet.methods.registry import get_method
from acdnet.physics import projector
from acdnet.physics.implants.anatomy import find_anatomy
from acdnet.physics.implants.draw import draw_implant
from acdnet.physics.measurement import Measurement
from acdnet.physics.phantom import make_phantom
from acdnet.physics.simulate import simulate

METHODS = ("li", "nmar", "tracefit", "acdnet")
ROUNDS = 1
EVERY = 4
"""Only every so many pixels of the phantom are used: tensor operations take minutes on a whole slice on a CPU."""
COLUMNS = ("method", "compiled loops", "tensor operations", "ratio", "largest difference")


@contextmanager
def tensor_operations() -> Iterator[None]:
    """Let the projector use tensor operations on CPUs, too."""
    compiled = projector._compiled
    projector._compiled = lambda _: False
    try:
        yield
    finally:
        projector._compiled = compiled


def scene() -> Measurement:
    """Return a phantom's slice with a hip prosthesis."""
    phantom = make_phantom("pelvis", 3)
    implant = draw_implant(find_anatomy(phantom.hu, phantom.pixel_mm), np.random.default_rng(3), ("hip-cup",))
    made = simulate(phantom.hu, implant.mask, "clinical", 3, phantom.pixel_mm, "CoCrMo")
    small, metal = made.corrupted[::EVERY, ::EVERY], made.metal[::EVERY, ::EVERY]
    return Measurement(small, metal, (EVERY * phantom.pixel_mm, EVERY * phantom.pixel_mm))


def main() -> None:
    """Print the table."""
    slice_ = scene()
    table = Table(*COLUMNS)
    for name in METHODS:
        method = get_method(name, "cpu")
        seconds: dict[bool, list[float]] = {True: [], False: []}
        images = {}
        for _ in range(ROUNDS + 1):
            for compiled in (True, False):
                fresh = Measurement(slice_.slice_hu, slice_.slice_metal, slice_.spacing_mm)
                start = time.perf_counter()
                if compiled:
                    images[compiled] = method(fresh).image_hu
                else:
                    with tensor_operations():
                        images[compiled] = method(fresh).image_hu
                seconds[compiled].append(time.perf_counter() - start)
        fast, plain = (statistics.median(seconds[compiled][1:]) for compiled in (True, False))
        off = float(np.abs(images[True] - images[False])[~slice_.slice_metal].max())
        table.add_row(name, f"{fast:.2f} s", f"{plain:.2f} s", f"{plain / fast:.1f} x", f"{off:.3f} HU")
    Console().print(table)


if __name__ == "__main__":
    main()
