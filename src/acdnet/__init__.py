"""ACDNet: metal artifacts out of CT images. Research use only; not a medical device.

`import acdnet` is quick: torch is loaded when something that needs it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_LAZY = {
    "ACDNet": "acdnet.model.acdnet",
    "ACDNetConfig": "acdnet.config",
    "Decomposition": "acdnet.model.acdnet",
    "decompose_hu": "acdnet.model.border",
    "load_model": "acdnet.weights.load",
    "look_inside": "acdnet.reduction.reducer",
    "reduce": "acdnet.reduction.volume",
    "reduced_hu": "acdnet.model.border",
    "simulate": "acdnet.physics.simulate",
}

if TYPE_CHECKING:
    from acdnet.config import ACDNetConfig as ACDNetConfig
    from acdnet.model.acdnet import ACDNet as ACDNet
    from acdnet.model.acdnet import Decomposition as Decomposition
    from acdnet.model.border import decompose_hu as decompose_hu
    from acdnet.model.border import reduced_hu as reduced_hu
    from acdnet.physics.simulate import simulate as simulate
    from acdnet.reduction.reducer import look_inside as look_inside
    from acdnet.reduction.volume import reduce as reduce
    from acdnet.weights.load import load_model as load_model

__all__ = [
    "ACDNet",
    "ACDNetConfig",
    "Decomposition",
    "__version__",
    "decompose_hu",
    "load_model",
    "look_inside",
    "reduce",
    "reduced_hu",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'acdnet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
