from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from acdnet.config import ORDERS
from acdnet.errors import ConfigError
from acdnet.train.experiment import BLOCKS, experiment, variants, write_table
from tests.train.make import small_config, small_store


def test_variants_differ_in_one_thing(tmp_path: Path) -> None:
    config = small_config(tmp_path, tmp_path)
    blocks = variants(config, "blocks", tmp_path)
    assert [settings.model.network().to_dict()["blocks"] for _, settings in blocks] == list(BLOCKS)
    orders = variants(config, "order", tmp_path)
    assert [settings.model.network().to_dict()["order"] for _, settings in orders] == list(ORDERS)
    assert len({settings.run.folder for _, settings in orders}) == len(ORDERS)
    with pytest.raises(ConfigError, match="blocks, order"):
        variants(config, "width", tmp_path)


def test_an_experiment_runs_and_goes_on(tmp_path: Path) -> None:
    store = small_store(tmp_path, 10)
    config = small_config(store, tmp_path / "x", patches=4, together=0)
    outcomes = list(experiment(config, "blocks", tmp_path / "x"))
    assert [one.patches for one in outcomes] == [4] * len(BLOCKS)
    assert outcomes[0].parameters < outcomes[1].parameters
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "x").rglob("*.safetensors")}
    assert list(experiment(config, "blocks", tmp_path / "x")) == outcomes
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    with pytest.raises(ConfigError, match=r"other settings in \[training\]"):
        list(experiment(replace(config, training=replace(config.training, rate=1e-4)), "blocks", tmp_path / "x"))
    write_table(outcomes, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().count("\n") == 1 + len(BLOCKS)


def test_budgets_are_patches_and_scores_are_needed(tmp_path: Path) -> None:
    config = small_config(tmp_path, tmp_path)
    with pytest.raises(ConfigError, match=r"data\.val"):
        next(experiment(replace(config, data=replace(config.data, val=())), "order", tmp_path))
    with pytest.raises(ConfigError, match=r"training\.patches"):
        next(experiment(replace(config, training=replace(config.training, minutes=1.0)), "order", tmp_path))
