"""Keep memory that was freed: asking the system for it anew, page by page, takes time for every image."""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4
"""Numbers of settings of glibc's `mallopt`."""
_KEPT, _AHEAD = 2**31 - 1, 64 * 2**20


def keep_freed_memory() -> bool:
    """Let this process keep what it frees, where the C library can be told so (glibc); tell whether it could."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library
        return False
    wishes = {_MMAP_MAX: 0, _TRIM_THRESHOLD: _KEPT, _TOP_PAD: _AHEAD}
    heard = [mallopt(setting, value) == 1 for setting, value in wishes.items()]
    return all(heard)
