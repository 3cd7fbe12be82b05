import platform
import subprocess
import sys

FREED = """
import resource
import numpy as np
from acdnet.fast.malloc import keep_freed_memory
print(keep_freed_memory())
for _ in range(3):
    np.ones(2**22)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    np.ones(2**22)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
PAGES = 8 * 2**22 // 4096
"""Of one of the arrays."""


def test_memory_that_was_freed_is_used_again() -> None:
    done = subprocess.run([sys.executable, "-c", FREED], capture_output=True, text=True, check=True)
    kept, faults = done.stdout.split()
    assert kept == str(platform.libc_ver()[0] == "glibc")
    assert kept == "False" or int(faults) < PAGES
