import csv
from pathlib import Path

import numpy as np
import pytest

from acdnet.data.pairs import open_pairs
from acdnet.errors import InputRefused
from acdnet.evaluate.entrants import get_entrants
from acdnet.methods.method import Image
from acdnet.physics.measurement import Measurement
from tests.evaluate.make import Stub
from tests.reduction.make import report, run


def test_the_command_writes_everything(clinical_store: Path, tmp_path: Path) -> None:
    out = tmp_path / "e"
    options = ("--out", out, "--pairs", 3, "--lesions", 1, "--methods", "input,li,acdnet")
    assert run("evaluate", clinical_store, *options).code == 0
    assert {path.name for path in out.iterdir()} == {
        *("scores.csv", "tables.csv", "tables.md", "tables.tex", "report.json"),
        *("panels.png", "sizes.png", "stages.png", "dictionary.png", "cases.npz"),
    }
    written = report(out)
    assert len(written["scores"]) == 9
    assert {one["method"] for one in written["lesions"]} == {"Input", "LI", "ACDNet"}
    assert "Lesion retention" in (out / "tables.md").read_text()
    assert run("evaluate", clinical_store, *options).code == 3


def test_scores_so_far_are_kept(clinical_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0

    def breaks_later(measurement: Measurement) -> Image:
        nonlocal calls
        calls += 1
        return measurement.slice_hu if calls != 3 else np.full_like(measurement.slice_hu, np.nan)

    methods = [*get_entrants(["li"]), Stub("broken", breaks_later)]
    monkeypatch.setattr("acdnet.evaluate.entrants.get_entrants", lambda _: methods)
    out = tmp_path / "e"
    command = ("evaluate", clinical_store, "--out", out, "--methods", "li", "--lesions", 0)
    stopped = run(*command)
    assert stopped.code == 3
    assert "unfinished.csv" in stopped.output
    with (out / "unfinished.csv").open() as file:
        kept = [(row["case"], row["method"]) for row in csv.DictReader(file)]
    names = [info.name for info in open_pairs(clinical_store).infos()]
    assert kept == [(name, method) for name in names[:2] for method in ("LI", "broken")]  # not half of the third
    assert run(*command).code == 0
    assert not (out / "unfinished.csv").exists()
    assert (out / "scores.csv").is_file()


def test_a_refusal_among_the_lesions_does_not_lose_the_scores(
    clinical_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise InputRefused("no room")

    monkeypatch.setattr("acdnet.evaluate.lesions.lesion_retention", refuse)
    assert run("evaluate", clinical_store, "--out", tmp_path / "e", "--methods", "li", "--pairs", 2).code == 3
    assert report(tmp_path / "e")["scores"]
