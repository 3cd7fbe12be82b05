"""Evaluations of the same pairs, joined."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from acdnet.cli.app import app
from acdnet.data.recipe import Recipe
from benchmarks.join import join
from tests.train.make import small_store


def evaluated(store: Path, out: Path, methods: str) -> Path:
    command = ["evaluate", str(store), "--out", str(out), "--methods", methods, "--lesions", "2"]
    assert CliRunner().invoke(app, command).exit_code == 0
    return out


def test_parts_give_the_tables_of_the_whole(tmp_path: Path) -> None:
    store = small_store(tmp_path, 4, recipe=Recipe("clinical", pairs=1, size=96))
    first, second = (evaluated(store, tmp_path / name, name) for name in ("input,li", "li,nmar"))
    whole = evaluated(store, tmp_path / "whole", "input,li,nmar")
    join(["input", "li", "nmar"], [first, second], tmp_path / "joined")
    expected, found = (json.loads((folder / "report.json").read_text()) for folder in (whole, tmp_path / "joined"))
    for before, after in zip(expected["tables"], found["tables"], strict=True):
        assert after["title"] == before["title"]
        if before["title"] != "Cost":  # seconds
            assert after == before
    assert found["methods"] == ["input", "li", "nmar"]
    assert (tmp_path / "joined" / "sizes.png").is_file()
    with pytest.raises(SystemExit, match="none of them has scores of BHC"):
        join(["bhc"], [first, second], tmp_path / "none")
    report = json.loads((second / "report.json").read_text())
    (second / "report.json").write_text(json.dumps(report | {"weights": {"NMAR": "others"}}))
    with pytest.raises(SystemExit, match="other weights"):
        join(["nmar"], [first, second], tmp_path / "changed")
    del report["store"]
    (second / "report.json").write_text(json.dumps(report))
    with pytest.raises(SystemExit, match="evaluate again"):
        join(["nmar"], [first, second], tmp_path / "old")


@pytest.mark.parametrize("others", [(4, 0), (3, 1)])
def test_other_pairs_are_refused(tmp_path: Path, others: tuple[int, int]) -> None:
    stores = [
        small_store(tmp_path, n, name=f"store-{n}-{seed}", recipe=Recipe("clinical", pairs=1, size=96, seed=seed))
        for n, seed in ((3, 0), others)
    ]
    parts = [evaluated(store, tmp_path / f"{n}", "li") for n, store in enumerate(stores)]
    with pytest.raises(SystemExit, match="different pairs"):
        join(["li"], parts, tmp_path / "joined")
