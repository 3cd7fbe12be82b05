"""Replace the parts of a network by faster ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from torch import nn

Old = TypeVar("Old", bound=nn.Module)


def replace_modules(parent: nn.Module, old: type[Old], new: Callable[[Old], nn.Module]) -> None:
    """Replace every module of one type, at any depth, by what `new` makes of it."""
    for name, child in parent.named_children():
        if isinstance(child, old):
            setattr(parent, name, new(child))
        else:
            replace_modules(child, old, new)
