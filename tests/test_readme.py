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
    assert np.isfinite(names["done"].hu).all()
    assert {one.status for one in names["done"].slices} == {"reduced", "unchanged"}
    assert len(names["found"].K) == len(names["found"].artifacts)


def test_the_first_snippet_on_simulation_runs() -> None:
    page = (REPOSITORY / "docs/simulation.md").read_text()
    code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["pair"].li.shape == (416, 416)


def test_every_linked_picture_and_page_exists() -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link]
    assert len(links) >= 5
    assert all((REPOSITORY / link).is_file() for link in links)


def test_tables_of_readme_and_docs_are_filled() -> None:
    """They are written by `python -m benchmarks.readme`; an empty one was forgotten."""
    found = 0
    for path in (REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")):
        for name, text in re.findall(r"<!-- ([\w ]+ table) -->\n(.*?)<!-- /\1 -->", path.read_text(), re.DOTALL):
            found += 1
            assert text.count("|") > 10, f"{path.name}: {name} is empty"
    assert found >= 4
