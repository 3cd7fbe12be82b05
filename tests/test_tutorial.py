"""The tutorial runs as it stands; only its budget is smaller here."""

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import REPOSITORY
from tests.data.make import one_process
from tests.reduction.make import run

PAGE = (REPOSITORY / "docs/tutorial.md").read_text()
SMALLER = (("--slices 40 --pairs 3 --size 256", "--slices 10 --pairs 1 --size 96"), ("minutes = 4", "patches = 32"))
FILES = ("tables.md", "panels.png", "dictionary.png")


def test_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = PAGE
    for text, smaller in SMALLER:
        assert text in page
        page = page.replace(text, smaller)
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^    \.venv/bin/acdnet (.*)$", page, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["simulate", "train", "evaluate"]
    (settings,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    for command in commands:
        if command.startswith("train"):
            Path("tutorial/train.toml").write_text(settings)
        with one_process():
            done = run(*shlex.split(command))
        assert done.code == 0, f"{command}\n{done.text}"
    for name in ("pairs.png", "run/model.safetensors", *(f"scores/{file}" for file in FILES)):
        assert (Path("tutorial") / name).is_file(), name
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    assert np.isfinite(names["image"]).all()
