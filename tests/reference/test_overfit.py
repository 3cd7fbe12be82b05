"""The network can learn a pair by heart. Takes a quarter of an hour, so it runs when it is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY


def test_overfits_one_published_pair(shared: Path) -> None:
    if not os.environ.get("ACDNET_SLOW"):
        pytest.skip("takes a quarter of an hour; set ACDNET_SLOW=1 to run it")
    command = [sys.executable, str(REPOSITORY / "examples/overfit.py"), str(shared / "reference/syndeeplesion")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (last,) = [line for line in done.stdout.splitlines() if line.startswith("final")]
    assert float(last.split()[1]) > 45.0
