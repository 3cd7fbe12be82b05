"""Retain freed memory: requesting it from the system again, page by page, slows down every image."""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4
"""Parameters of glibc's `mallopt`."""
_KEPT, _AHEAD = 2**31 - 1, 64 * 2**20


def keep_freed_memory() -> bool:
    """Make this process retain freed memory if the C library is glibc; return whether it worked."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library
        return False
    settings = {_MMAP_MAX: 0, _TRIM_THRESHOLD: _KEPT, _TOP_PAD: _AHEAD}
    accepted = [mallopt(setting, value) == 1 for setting, value in settings.items()]
    return all(accepted)
