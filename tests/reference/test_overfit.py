"""Every network can learn a published pair by heart. That takes up to a quarter of an hour each."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

MARGIN_DB = {"acdnet-s": 8.0, "cnnmar": 1.5, "dudonet-s": 4.0, "dscmar-s": 1.5, "dudonet++-s": 4.0}
"""By how much a network must exceed LI on the pair it learnt."""


@pytest.mark.slow
@pytest.mark.parametrize("architecture", MARGIN_DB)
def test_overfits_one_published_pair(architecture: str, shared: Path) -> None:
    if not os.environ.get("ACDNET_OVERFIT"):
        pytest.skip("takes up to a quarter of an hour; set ACDNET_OVERFIT=1 to run it")
    folder = shared / "reference" / "syndeeplesion"
    command = [sys.executable, str(REPOSITORY / "examples/overfit.py"), str(folder), "--architecture", architecture]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    li, learnt = (float(re.findall(rf"{name} ([\d.]+) dB", done.stdout)[-1]) for name in ("LI", "final"))
    assert learnt > li + MARGIN_DB[architecture]
