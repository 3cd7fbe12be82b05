"""What `benchmarks.results` scores, refuses and writes; the scores are made up."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from acdnet.evaluate.entrants import get_entrants
from acdnet.evaluate.lesions import Retention
from acdnet.evaluate.metrics import Scores
from acdnet.evaluate.off_target import Change
from acdnet.evaluate.report import write_report
from acdnet.evaluate.run import AREAS, CaseScores, Evaluation
from acdnet.weights.card import card_path, read_card
from acdnet.weights.shipped import shipped_models
from benchmarks import results, results_scores
from benchmarks.results_scores import Job, StoreScores, check_scored, jobs, scored_by

METHODS = "input,li,cnnmar,clinical-s"
SIZES = (900, 20)


class Program:
    """Stands in for `acdnet simulate` and `acdnet evaluate`; method n scores 40 + n dB, 42 + n with little metal."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.code, self.edited, self.asked = "code", "", list[tuple[str, str, str]]()
        monkeypatch.setattr(results_scores, "run_acdnet", self.run)
        monkeypatch.setattr(results, "run_acdnet", self.run)
        monkeypatch.setattr(results_scores, "code", lambda: self.code)
        monkeypatch.setattr(results, "code", lambda: self.code)

    def run(self, verb: str, source: str, *arguments: str, **_: object) -> None:
        if verb == "simulate":
            make_store(Path(arguments[0]))
            return
        option = dict(zip(arguments[::2], arguments[1::2], strict=True))
        self.asked.append((Path(source).name, option["--methods"], option["--lesions"]))
        methods = get_entrants(option["--methods"].split(","))
        rows = [case_scores(one.label, n) for one in methods for n in range(len(SIZES))]
        kept = [Retention("a", one.label, "near", 0.875) for one in methods] if int(option["--lesions"]) else []
        out = Path(option["--out"])
        out.mkdir(parents=True)
        write_report(Evaluation(methods, rows), kept, out, {})
        (out / "panels.png").write_bytes(b"png")
        self.code = self.edited or self.code


def case_scores(label: str, n: int) -> CaseScores:
    psnr = {"Input": 40.0, "LI": 41.0, "cnnmar": 42.0}.get(label, 43.0) + 2 * n
    areas = dict.fromkeys(AREAS, 20.0 + n)
    needless = {"soft": Change(1.0, 5), "bone": Change(2.0, 5)}
    return CaseScores(f"case {n}", SIZES[n], label, 1.0, Scores(psnr, 0.9, psnr, 0.9, areas, areas), needless, str(n))


def make_store(folder: Path, skipped: int = 1) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    slices = [{"patient": "one", "pairs": [{}, {}]}, {"patient": "two", "pairs": [{}]}]
    (folder / "manifest.json").write_text(json.dumps({"slices": slices, "skipped": ["why"] * skipped}))
    return folder


def copy_model(name: str, path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    shutil.copy(shipped_models()[name], path)
    shutil.copy(card_path(shipped_models()[name]), card_path(path))
    return path


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Program:
    return Program(monkeypatch)


def test_only_what_changed_is_scored_again(tmp_path: Path, program: Program) -> None:
    model = copy_model("benchmark-s", tmp_path / "mine" / "model.safetensors")
    job = Job(make_store(tmp_path / "clinical-test"), (str(model),))
    job.run("code")
    assert job.run("code") == 0.0
    assert len(program.asked) == 1
    first = job.folder
    copy_model("clinical-s", model)
    job.run("code")
    assert job.folder != first
    assert len(program.asked) == 2
    copy_model("benchmark-s", model)
    assert job.run("code") == 0.0  # the scores of these weights are still there
    make_store(job.store, skipped=2)
    job.run("code")
    assert len(program.asked) == 3
    program.code = "new code"
    job.run("new code")
    assert len(program.asked) == 4
    assert scored_by(job.folder) == "new code"


def test_scores_of_code_that_changed_meanwhile_are_not_used(tmp_path: Path, program: Program) -> None:
    job = Job(make_store(tmp_path / "clinical-test"), ("li",))
    program.edited = "edited"
    with pytest.raises(SystemExit, match="the code changed"):
        job.run("code")
    with pytest.raises(SystemExit, match="not scored"):
        check_scored([job])
    job.run("edited")
    check_scored([job])


def test_scores_of_different_code_are_not_put_together(tmp_path: Path, program: Program) -> None:
    several = [Job(make_store(tmp_path / "clinical-test"), (name,)) for name in ("li", "nmar")]
    several[0].run("code")
    program.code = "new code"
    several[1].run("new code")
    with pytest.raises(SystemExit, match="different versions"):
        check_scored(several)
    several[0].run("new code")
    check_scored(several)


def test_lesions_are_for_methods_for_scans(tmp_path: Path) -> None:
    found = {(job.store.name, job.title): job.lesions for job in jobs(tmp_path, METHODS.split(","))}
    assert found["clinical-test", "input, li"] == found["clinical-test", "clinical-s"] == 32
    assert found["clinical-site_head", "clinical-s"] == 8
    assert found["clinical-test", "cnnmar"] == found["syndeeplesion-test", "input, li"] == 0
    assert found["clinical-phantoms", "input, li, cnnmar, clinical-s"] == 0


def test_scores_of_a_card_are_means_by_split_protocol_and_size() -> None:
    rows = [case_scores("clinical-s", n).row() for n in range(len(SIZES))]
    scores = results.card_scores([StoreScores("clinical", "test", [], rows)], "clinical-s")
    assert scores["test, clinical, metal 900 px: window dB"] == 43.0
    assert scores["test, clinical, metal 20 px: soft tissue RMSE HU"] == 21.0
    assert scores["test, clinical, metal all sizes: window dB"] == 44.0
    assert results.card_scores([StoreScores("clinical", "test", [], rows)], "another") == {}


def test_a_card_keeps_its_validation_scores(tmp_path: Path) -> None:
    model = copy_model("clinical-s", tmp_path / "model.safetensors")
    card = replace(read_card(model), scores={"validation: model dB": 40.0, "test, old: window dB": 1.0})
    card_path(model).write_text(card.to_json())
    results.write_card(model, {"test, new: window dB": 2.0})
    assert read_card(model).scores == {"validation: model dB": 40.0, "test, new: window dB": 2.0}
    with pytest.raises(SystemExit, match="was not scored"):
        results.write_card(model, {})


def test_the_whole_command(tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    docs, readme = tmp_path / "docs", tmp_path / "README.md"
    readme.write_text("before\n<!-- results table -->\n<!-- /results table -->\nafter\n")
    model = copy_model("clinical-s", tmp_path / "clinical-s.safetensors")
    monkeypatch.setattr(results, "DOCS", docs)
    monkeypatch.setattr(results, "README", readme)
    monkeypatch.setattr(
        results, "model_files", lambda _: {"clinical-s": model}
    )  # the card is written, the model is not
    arguments = ["results", "private/slices", "--folder", str(tmp_path / "runs"), "--docs", str(docs)]
    monkeypatch.setattr(sys, "argv", [*arguments, "--methods", METHODS])
    results.main()
    page = (docs / "results.md").read_text()
    assert f"`python -m benchmarks.results SLICES --methods {METHODS}`" in page
    assert str(tmp_path) not in page
    assert "| LI | 42.00 / 0.9000 / 20.5 |" in page
    cnnmar = "43.00 / 0.9000 / 20.5"
    assert f"| cnnmar | {cnnmar} | {cnnmar} † | {cnnmar} | {cnnmar} † |" in page
    assert "3 pairs of 2 slices of 2 patients; 1 slices could not be used." in page
    assert "| clinical-s | 87.5% (88% to 88%) |" in page
    assert read_card(model).sha256[:16] in page
    assert "`dudonet-s` above LI | test, syndeeplesion | at least 0.00 dB | - | not scored |" in page
    assert "| clinical-s | **43.00** / **0.9000** | **45.00** / **0.9000** | **44.00** / **0.9000** |" in page
    table = (docs / "results" / "clinical-test.csv").read_text()
    assert table.startswith("By metal size (window)\nmethod,900 px,20 px,average\nInput,40.00 / 0.9000,42.00 / 0.9000,")
    assert "\nLesion retention\n" in table
    assert len(list((docs / "results").iterdir())) == 5
    assert "| CNNMAR | 43.00 dB | 0.9000 | 20.5 HU | - | - | - |\n" in readme.read_text()
    assert "DuDoNet" not in readme.read_text()
    assert read_card(model).scores["test, clinical, metal all sizes: window dB"] == 44.0
    asked = len(program.asked)
    monkeypatch.setattr(sys, "argv", [*arguments, "--methods", METHODS, "--page-only"])
    results.main()
    make_store(tmp_path / "runs" / "clinical-test", skipped=2)
    with pytest.raises(SystemExit, match=r"clinical-test, input, li: not scored; run without --page-only"):
        results.main()
    assert len(program.asked) == asked
