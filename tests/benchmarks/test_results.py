"""What `benchmarks.results` asks for and writes into cards; what it measures is not tested."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from acdnet.cli.app import app
from acdnet.data.recipe import Recipe
from acdnet.files import sha256
from acdnet.weights.card import card_path, read_card
from acdnet.weights.shipped import shipped_models
from benchmarks import models, results, results_page
from tests.train.make import small_store


def given(folder: Path, methods: str) -> argparse.Namespace:
    return argparse.Namespace(folder=folder, methods=methods)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for split in results_page.SPLITS:
        for protocol in results_page.PROTOCOLS:
            (tmp_path / f"{protocol}-{split}").mkdir()
            entries = [{"patient": "one", "pairs": [{}, {}]}, {"patient": "one", "pairs": [{}]}]
            manifest = {"slices": entries, "skipped": ["why"]}
            (tmp_path / f"{protocol}-{split}" / "manifest.json").write_text(json.dumps(manifest))
            scores = tmp_path / f"{protocol}-{split}-scores"
            scores.mkdir()
            rows: list[dict[str, Any]] = [
                {"method": "clinical-s", "metal_pixels": size, "window_psnr": 40.0 + n, "rmse_soft_hu": 20.0 + n}
                for n, size in enumerate((20, 100, 300, 900, 2000))
            ]
            (scores / "report.json").write_text(json.dumps({"scores": rows}))
    return tmp_path


def test_scores_of_a_card_are_means_by_split_protocol_and_size(folder: Path) -> None:
    scores = results.card_scores(folder, "clinical-s")
    assert scores["test, clinical, metal all sizes: window dB"] == 42.0
    assert scores["site_head, syndeeplesion, metal all sizes: soft tissue RMSE HU"] == 22.0
    assert results.card_scores(folder, "another") == {}


def copied(_: list[str], parts: list[Path], out: Path) -> None:
    """Stand in for `join` where scores are made up: the last part is what there is."""
    shutil.copytree(parts[-1], out)


def test_only_what_has_changed_is_scored_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Real scores of a small store, of a model in a file."""
    asked: list[str] = []
    source = ["code"]

    def acdnet(*arguments: str, threads: int) -> None:
        asked.append(arguments[arguments.index("--methods") + 1])
        assert CliRunner().invoke(app, arguments).exit_code == 0

    monkeypatch.setattr(results, "code", lambda: source[0])
    monkeypatch.setattr(results, "_acdnet", acdnet)
    small_store(tmp_path, 1, name="clinical-test", recipe=Recipe("clinical", pairs=1, size=64))
    model = tmp_path / "mine" / "model.safetensors"
    model.parent.mkdir()

    def put(name: str) -> None:
        shipped = shipped_models()[name]
        shutil.copy(shipped, model)
        card_path(model).write_text(replace(read_card(shipped), name="mine").to_json())

    def score(methods: str) -> dict[str, Any]:
        results.score(given(tmp_path, methods), "clinical", "test", results.code())
        report: dict[str, Any] = json.loads((tmp_path / "clinical-test-scores" / "report.json").read_text())
        return report

    put("benchmark-s")
    first = score(f"input,li,{model}")
    assert score(f"input,li,{model}") == first
    assert asked == [f"input,li,{model}"]
    put("clinical-s")
    other = score(f"nmar,li,{model}")
    assert asked[1:] == [f"nmar,{model}"]
    assert {row["method"] for row in other["scores"]} == {"NMAR", "LI", "mine"}
    assert other["joined"] == 2
    put("benchmark-s")  # its scores are still there, beside those of the other of its name
    again = score(f"nmar,{model}")
    assert len(asked) == 2
    assert [row for row in again["scores"] if row["method"] == "mine"] == [
        row for row in first["scores"] if row["method"] == "mine"
    ]
    unfinished = max(tmp_path.glob("clinical-test-part-*"))
    (unfinished / "asked.json").unlink()
    score("input,li")
    assert not unfinished.exists()
    source[0] = "changed"
    score("input,li")
    assert asked[2:] == ["input,li"]

    def edited(*arguments: str, threads: int) -> None:
        acdnet(*arguments, threads=threads)
        source[0] = "edited"

    monkeypatch.setattr(results, "_acdnet", edited)
    with pytest.raises(SystemExit, match="the code has changed"):
        score("nmar")
    monkeypatch.setattr(results, "_acdnet", acdnet)
    source[0] = "changed"
    score("nmar")  # what was scored with two codes is not taken
    assert asked[3:] == ["nmar", "nmar"]


def test_lesions_are_for_methods_for_scans(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def acdnet(*arguments: str, **_: Any) -> None:
        asked.append(arguments)
        Path(arguments[arguments.index("--out") + 1]).mkdir()

    monkeypatch.setattr(results, "_acdnet", acdnet)
    monkeypatch.setattr(results, "join", copied)
    monkeypatch.setattr(results, "code", lambda: "code")
    results.score_lesions(given(folder, "input,li,cnnmar,clinical-s"), "test", "code")
    results.score_lesions(given(folder, "input,cnnmar"), "test", "code")
    results.score(given(folder, "input,li"), "clinical", "test", "code")
    lesions, scores = asked
    assert lesions[lesions.index("--methods") + 1] == "li,clinical-s"
    assert lesions[lesions.index("--lesions") + 1] == str(results.LESIONS["test"])
    assert scores[scores.index("--lesions") + 1] == "0"


def test_all_of_it_is_written(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """The command from its arguments to page and cards, with slices that were skipped, and nothing computed."""

    def acdnet(*arguments: str, fine: tuple[int, ...] = (0,), threads: int = 0) -> None:
        if arguments[0] == "simulate":
            assert arguments[1] == "phantom" or results.SKIPPED in fine
            return
        assert threads == (0 if "phantoms" in arguments[1] else 1)
        lesions = arguments[arguments.index("--lesions") + 1] != "0"
        scores = Path(arguments[arguments.index("--out") + 1])
        scores.mkdir()
        row = {"patient": "a", "metal_pixels": 9, "window_psnr": 41.0, "window_ssim": 0.98, "rmse_soft_hu": 21.0}
        rows = [{"method": name, **row} for name in ("ACDNet", "cnnmar")]
        methods = arguments[arguments.index("--methods") + 1].strip(",").split(",")
        weights = {name: sha256(path.read_bytes()) for name, path in results.model_files(",".join(methods)).items()}
        report = {"scores": rows, "pairs": 1, "methods": methods, "weights": weights}
        (scores / "report.json").write_text(json.dumps(report))
        text = "# Evaluation\n\nNo device.\n\n## By metal size (window)\n\n| a |\n\n## Cost\n\n| b |\n"
        (scores / "tables.md").write_text(text + "\n## Lesion retention\n\n| c |\n" * lesions)
        for name in ("panels.png", "sizes.png"):
            (scores / name).write_bytes(b"png")

    pictures, cards = tmp_path / "pictures", tmp_path / "cards"
    pictures.mkdir()
    cards.mkdir()
    copies = {}
    for name, path in shipped_models().items():
        copies[name] = cards / path.name
        copies[name].write_bytes(path.read_bytes())
        card_path(copies[name]).write_bytes(card_path(path).read_bytes())
    monkeypatch.setattr(results, "_acdnet", acdnet)
    monkeypatch.setattr(results, "join", copied)
    monkeypatch.setattr(results, "shipped_models", lambda: copies)
    monkeypatch.setattr(results, "find_model", lambda name: copies["clinical-s" if name == "default" else name])
    monkeypatch.setattr(results, "PAGE", tmp_path / "results.md")
    monkeypatch.setattr(results_page, "PICTURES", pictures)
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- results table -->\n<!-- /results table -->\nafter\n")
    monkeypatch.setattr(results, "README", readme)
    monkeypatch.setattr(models, "main", lambda: print("models written"))
    arguments = ["results", "somewhere/private", "--folder", str(folder), "--methods", "input,li,cnnmar,acdnet,"]
    monkeypatch.setattr(sys, "argv", arguments)
    results.main()
    page = (tmp_path / "results.md").read_text()
    assert "private" not in page
    for split, protocol in (("test", "clinical"), ("site_head", "syndeeplesion")):
        assert page.count(f"### By metal size (window): {split}, {protocol}\n") == 1
    assert "3 pairs of 2 slices of one patient; 1 slices could not be used." in page
    assert "| cnnmar | 41.00 / 0.9800 / 21.0 | 41.00 / 0.9800 / 21.0 † |" in page
    assert read_card(copies["cnnmar"]).sha256[:16] in page
    assert page.count("### Lesion retention: site_head, clinical\n\n| c |\n") == 1
    assert "<details><summary>Cost: test, clinical</summary>\n\n| b |\n\n</details>" in page
    assert "`cnnmar` has its published size" in page
    assert "; every number was computed by it." in page
    assert "| CNNMAR | 41.00 dB | 0.9800 | 21.0 HU | - | - | - |\n" in readme.read_text()
    assert "DuDoNet" not in readme.read_text()
    assert readme.read_text().endswith("<!-- /results table -->\nafter\n")
    assert "`dudonet-s` has a quarter" not in page
    assert len(list(pictures.iterdir())) == 6
    for name in ("clinical-s", "cnnmar"):
        assert read_card(copies[name]).scores["test, clinical, metal all sizes: window dB"] == 41.0
    assert read_card(copies["benchmark-s"]).scores == read_card(shipped_models()["benchmark-s"]).scores
    assert "models written" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", [*arguments, "--page-only"])
    for name in ("test-lesions", "clinical-phantoms"):  # left from another run
        report = folder / f"{name}-scores" / "report.json"
        text = report.read_text()
        report.write_text(json.dumps(json.loads(text) | {"methods": ["li"]}))
        with pytest.raises(SystemExit, match=f"{name}: no scores"):
            results.main()
        report.write_text(text)
    report = folder / "clinical-test-scores" / "report.json"
    report.write_text(json.dumps(json.loads(report.read_text()) | {"joined": 2}))
    results.main()
    assert "in several evaluations of the same pairs" in (tmp_path / "results.md").read_text()
    copies["cnnmar"].write_bytes(copies["cnnmar"].read_bytes() + b"\0")  # other weights of the same name
    with pytest.raises(SystemExit, match="as they are"):
        results.main()


def test_networks_that_acdnet_is_compared_with_come_first() -> None:
    names = results.in_order()
    assert names[0] == "cnnmar"
    assert set(names) == set(shipped_models())


def test_a_card_does_not_lose_its_scores(folder: Path) -> None:
    with pytest.raises(SystemExit, match="was not scored"):
        results.put_scores(shipped_models()["cnnmar"], results.card_scores(folder, "another"))


def test_scores_of_a_card_become_a_row_for_each_place() -> None:
    scores = {"validation: li dB": 35.0, "validation: model dB": 40.0, "test, clinical: window dB": 41.5}
    assert models.table_of({}) == []
    assert models.table_of(scores) == [
        "| scores | li dB | model dB |",
        "|---|---:|---:|",
        "| validation | 35.0 | 40.0 |",
        "",
        "| scores | window dB |",
        "|---|---:|",
        "| test, clinical | 41.5 |",
        "",
    ]
