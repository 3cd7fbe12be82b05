"""Every network can learn a pair by heart. Takes minutes to a quarter of an hour each, so it runs when asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.overfit import overfit

MARGIN_DB = {"acdnet-s": 8.0, "cnnmar": 1.5, "dudonet-s": 4.0, "dscmar-s": 1.5, "dudonet++-s": 4.0}
"""By how much a network must come out above LI on the pair it learnt."""


@pytest.mark.parametrize("architecture", MARGIN_DB)
def test_overfits_one_published_pair(architecture: str, shared: Path) -> None:
    if not os.environ.get("ACDNET_SLOW"):
        pytest.skip("takes up to a quarter of an hour; set ACDNET_SLOW=1 to run it")
    _, li, learnt = overfit(shared / "reference" / "syndeeplesion", architecture)
    assert learnt > li + MARGIN_DB[architecture]
