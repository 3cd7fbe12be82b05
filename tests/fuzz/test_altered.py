"""A short run of altered results."""

from pathlib import Path

from tests.fuzz.altered import altered


def test_f75_altered_results(tmp_path: Path) -> None:
    ends = altered(60, 1, tmp_path)
    assert ends.total() == 60
    assert set(ends) == {"refused", "refused later", "shown"}
