"""What the README shows works as it stands."""

import re
from typing import Any

import numpy as np

from tests.conftest import REPOSITORY

README = (REPOSITORY / "README.md").read_text()


def test_the_snippet_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    assert np.isfinite(names["image"]).all()
    assert len(names["found"].K) == len(names["found"].artifacts)


def test_every_picture_and_page_is_there() -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link]
    assert len(links) >= 5
    assert all((REPOSITORY / link).is_file() for link in links)
