"""A short run of the hostile requests."""

from pathlib import Path

from tests.fuzz.requests import requests


def test_f64_hostile_requests(tmp_path: Path) -> None:
    ends = requests(300, 1, tmp_path / "viewer")
    assert ends.total() == 300
    assert {"200", "400", "403", "404", "405", "422"} <= set(ends)  # they reach everything
