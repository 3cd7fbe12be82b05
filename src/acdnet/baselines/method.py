"""The one interface of all methods: a measured slice with metal in, an image in HU out.

What a method writes into the metal itself is of no account: the metal of the input is put back for display and
for files, and left out of every score.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import ConfigError
from acdnet.physics.measured import Measured

Method = Callable[[Measured], NDArray[np.float32]]

METHODS = {
    "input": ("acdnet.baselines.method", "as_measured", "the image as it came"),
    "li": ("acdnet.baselines.li", "li", "linear interpolation over the metal trace"),
    "bhc": ("acdnet.baselines.bhc", "bhc", "first-order beam-hardening correction of the metal"),
    "tracefit": ("acdnet.baselines.tracefit", "tracefit", "the metal's part of the trace fitted and taken off"),
    "nmar": ("acdnet.baselines.nmar", "nmar", "normalised metal artifact reduction, prior from the LI image"),
    "nmar-raw": ("acdnet.baselines.nmar", "nmar_raw", "the same, prior from the image as it came"),
}
"""Name: module, function, and what it is."""


def method(name: str) -> Method:
    """Return a method by name."""
    if name not in METHODS:
        raise ConfigError(f"no method {name!r}; there are {', '.join(METHODS)}")
    module, function, _ = METHODS[name]
    found: Method = getattr(import_module(module), function)
    return found


def as_measured(measured: Measured) -> NDArray[np.float32]:
    """Return the image as it came."""
    return measured.image
