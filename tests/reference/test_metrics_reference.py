"""The scores of published pairs. Means over twenty such pairs are known: input 26.0 (paper) and 29.8 dB (window),
LI 31.4 and 37.0 dB; these are three of their kind."""

from pathlib import Path

import pytest

from acdnet.data.pairs import open_pairs
from acdnet.evaluate.metrics import score

PINNED = [
    ("000195_02_02/202/0", "corrupted", 30.523, 0.6180, 28.122, 0.8013),
    ("000195_02_02/202/0", "li", 37.364, 0.8761, 33.119, 0.8926),
    ("000321_03_01/011/0", "corrupted", 29.943, 0.6233, 29.930, 0.7809),
    ("000321_03_01/011/0", "li", 35.293, 0.8852, 35.255, 0.8947),
    ("000321_03_01/011/1", "corrupted", 24.941, 0.5997, 24.938, 0.7447),
    ("000321_03_01/011/1", "li", 29.412, 0.8427, 29.402, 0.8488),
]


@pytest.mark.parametrize("pinned", PINNED, ids=lambda pinned: f"{pinned[0]}-{pinned[1]}")
def test_scores_of_published_pairs(shared: Path, pinned: tuple[str, str, float, float, float, float]) -> None:
    name, image, *expected = pinned
    pairs = open_pairs(shared / "reference/syndeeplesion")
    pair = pairs.read([info.name for info in pairs.infos()].index(name))
    s = score(getattr(pair, image), pair.clean, pair.metal)
    assert [s.window_psnr, s.window_ssim, s.paper_psnr, s.paper_ssim] == pytest.approx(expected, abs=1e-3)
