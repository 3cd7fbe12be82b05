"""ACDNet: metal artifact reduction in CT images. Research use only; not a medical device.

`import acdnet` is quick: torch is loaded when something that needs it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_LAZY = {
    "ACDNet": "acdnet.fast",
    "ACDNetConfig": "acdnet.config",
    "Decomposition": "acdnet.model.acdnet",
    "Measurement": "acdnet.physics.measurement",
    "Method": "acdnet.methods.method",
    "ReducedVolume": "acdnet.reduction.array",
    "Reduction": "acdnet.methods.method",
    "decompose": "acdnet.methods.api",
    "find_metal": "acdnet.methods.api",
    "get_method": "acdnet.methods.registry",
    "li": "acdnet.methods.api",
    "list_models": "acdnet.weights.shipped",
    "load_model": "acdnet.weights.load",
    "nmar": "acdnet.methods.api",
    "open_scan": "acdnet.io.open",
    "reduce": "acdnet.reduction.array",
    "simulate": "acdnet.physics.simulate",
}
_MODULES = {"metrics": "acdnet.evaluate.metrics"}

if TYPE_CHECKING:
    from acdnet.config import ACDNetConfig as ACDNetConfig
    from acdnet.evaluate import metrics as metrics
    from acdnet.fast import ACDNet as ACDNet
    from acdnet.io.open import open_scan as open_scan
    from acdnet.methods.api import decompose as decompose
    from acdnet.methods.api import find_metal as find_metal
    from acdnet.methods.api import li as li
    from acdnet.methods.api import nmar as nmar
    from acdnet.methods.method import Method as Method
    from acdnet.methods.method import Reduction as Reduction
    from acdnet.methods.registry import get_method as get_method
    from acdnet.model.acdnet import Decomposition as Decomposition
    from acdnet.physics.measurement import Measurement as Measurement
    from acdnet.physics.simulate import simulate as simulate
    from acdnet.reduction.array import ReducedVolume as ReducedVolume
    from acdnet.reduction.array import reduce as reduce
    from acdnet.weights.load import load_model as load_model
    from acdnet.weights.shipped import list_models as list_models

__all__ = [  # noqa: RUF022  the order in which a newcomer meets them
    "reduce",
    "ReducedVolume",
    "open_scan",
    "find_metal",
    "li",
    "nmar",
    "get_method",
    "Method",
    "Measurement",
    "Reduction",
    "decompose",
    "Decomposition",
    "simulate",
    "metrics",
    "list_models",
    "load_model",
    "ACDNet",
    "ACDNetConfig",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    if name in _MODULES:
        return import_module(_MODULES[name])
    raise AttributeError(f"module 'acdnet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
