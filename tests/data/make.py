"""Stores for tests."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acdnet.data import build as building
from acdnet.data.recipe import Recipe
from acdnet.data.sources import open_source

SIZE = 64


@contextmanager
def one_process() -> Iterator[None]:
    """Simulate in this process, which is faster than starting workers."""

    def pool(_workers: int, _spawn: object, _begin: object, arguments: tuple[Any, ...]) -> ThreadPoolExecutor:
        building._context = arguments[1]
        return ThreadPoolExecutor(1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "ProcessPoolExecutor", pool)
        yield


def small_store(folder: Path, slices: int = 5, name: str = "store", recipe: Recipe | None = None) -> Path:
    """Make a store of phantoms."""
    with one_process():
        list(building.build(open_source("phantom", slices), recipe or Recipe(pairs=1, size=SIZE), folder / name))
    return folder / name
