"""Results name how the metal was found, so that another localiser makes another result."""

from pathlib import Path

import pytest

from acdnet.methods.metal import Segmentation
from acdnet.reduction.settings import Settings


def test_the_description_of_the_metal_tells_all_that_decides_about_it(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        Settings(segmentation=Segmentation("grown", 2400.0)).metal,
        Settings(mask=Path("mask.npy")).metal,
        Settings(keep=(3, 5), drop=(2,)).metal,
        Settings().metal,
    ]
    assert texts[:2] == ["grown, threshold 2400 HU", "mask given"]
    assert texts[2] == f"{texts[3]}; kept 3, 5; dropped 2"
    monkeypatch.setattr("acdnet.methods.metal.localiser_weights", lambda: "f" * 64)
    assert Settings().metal != texts[3]
