"""A limit for the memory of the worker process, so that a hostile scan does not take that of the whole computer."""

from __future__ import annotations

import os
from contextlib import suppress

SHARE = 0.75
"""Share of the memory of the computer that a worker may use."""
FALLBACK_BYTES = 16 * 2**30
"""The limit where the size of the memory is unknown."""


def memory_limit() -> int:
    """Return how many bytes a worker may use."""
    try:
        return int(SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):  # Windows and others
        return FALLBACK_BYTES


def limit_memory(limit: int) -> None:
    """Limit the data of this process, where the system can; more ends in a MemoryError."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    if most != resource.RLIM_INFINITY:
        limit = min(limit, most)
    with suppress(ValueError, OSError):  # a system without such limits
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
