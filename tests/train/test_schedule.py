import pytest

from acdnet.train.config import from_dict
from acdnet.train.schedule import rate


def test_cosine_and_steps() -> None:
    cosine = from_dict({"training": {"rate": 1.0, "warm_up": 0.1, "final_share": 0.01}}).training
    assert rate(cosine, 0.0) == 0
    assert rate(cosine, 0.05) == pytest.approx(0.5)
    assert rate(cosine, 0.1) == pytest.approx(1.0)
    assert rate(cosine, 1.0) == pytest.approx(0.01)
    paper = from_dict({"training": {"recipe": "paper"}}).training
    assert rate(paper, 0.0) == 2e-4
    assert rate(paper, 50 / 300) == 1e-4
    assert rate(paper, 0.9) == pytest.approx(2e-4 / 16)
