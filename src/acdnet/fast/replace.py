"""Replace modules of a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from torch import nn

Old = TypeVar("Old", bound=nn.Module)


def replace_modules(parent: nn.Module, old: type[Old], new: Callable[[Old], nn.Module]) -> None:
    """Replace every module of a type, at any depth, by `new(module)`."""
    for name, child in parent.named_children():
        if isinstance(child, old):
            setattr(parent, name, new(child))
        else:
            replace_modules(child, old, new)
