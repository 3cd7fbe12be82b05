"""What `benchmarks.results` asks for and writes into cards; what it measures is not tested."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from acdnet.weights.shipped import shipped_models
from benchmarks import results


def given(folder: Path, methods: str) -> argparse.Namespace:
    return argparse.Namespace(folder=folder, methods=methods)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for split in results.SPLITS:
        for protocol in results.PROTOCOLS:
            (tmp_path / f"{protocol}-{split}").mkdir()
            (tmp_path / f"{protocol}-{split}" / "manifest.json").write_text("{}")
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


def test_a_model_is_scored_again_when_its_file_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(results, "_acdnet", lambda *arguments: asked.append(arguments))
    copy = folder / "model.safetensors"
    shipped = shipped_models()["cnnmar"]
    copy.write_bytes(shipped.read_bytes())
    what = given(folder, f"input,li,{copy}")

    def score() -> None:
        results.score(what, "syndeeplesion", "test")
        scores = folder / "syndeeplesion-test-scores"
        scores.mkdir(exist_ok=True)
        (scores / "report.json").write_text("{}")

    score()
    score()
    assert len(asked) == 1
    copy.write_bytes(shipped.read_bytes() + b"\0")
    score()
    assert len(asked) == 2


@pytest.mark.parametrize(("protocol", "lesions"), [("clinical", str(results.LESIONS)), ("syndeeplesion", "0")])
def test_lesions_are_for_images(protocol: str, lesions: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(results, "_acdnet", lambda *arguments: asked.append(arguments))
    results.score(given(folder, "input,li"), protocol, "test")
    (arguments,) = asked
    assert arguments[arguments.index("--lesions") + 1] == lesions
