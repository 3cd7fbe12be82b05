"""Every network can learn a pair by heart. Takes minutes to a quarter of an hour each, so it runs when asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

MARGIN_DB = {"acdnet-s": 8.0, "cnnmar": 1.5, "dudonet-s": 4.0, "dscmar-s": 1.5, "dudonet++-s": 4.0}
"""By how much a network must come out above LI on the pair it learnt."""


@pytest.mark.parametrize("architecture", MARGIN_DB)
def test_overfits_one_published_pair(architecture: str, shared: Path) -> None:
    if not os.environ.get("ACDNET_SLOW"):
        pytest.skip("takes up to a quarter of an hour; set ACDNET_SLOW=1 to run it")
    command = [sys.executable, str(REPOSITORY / "examples/overfit.py"), str(shared / "reference/syndeeplesion")]
    done = subprocess.run([*command, "--architecture", architecture], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    (last,) = [line for line in lines if line.startswith("final")]
    (others,) = [line for line in lines if line.startswith("input")]
    li = float(others.split("LI")[1].split()[0])
    assert float(last.split()[1]) > li + MARGIN_DB[architecture]
