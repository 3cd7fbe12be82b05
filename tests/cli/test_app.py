"""The command line as its users meet it."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import acdnet
from acdnet.cli import main
from acdnet.cli.models import headline
from acdnet.config import ARCHITECTURES
from acdnet.weights.load import read_acdnet
from acdnet.weights.shipped import shipped_cards
from benchmarks.literal import LiteralACDNet
from tests.reduction.make import run


def test_version() -> None:
    assert run("--version").text == f"acdnet {acdnet.__version__}\n"


def test_f49_ctrl_c_before_a_verb_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("acdnet.cli.app.main", interrupted)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 130
    assert capsys.readouterr() == ("", "")


def test_help_names_every_verb_and_the_limits() -> None:
    text = run("--help").text
    for verb in ("demo", "models", "import-weights", "export"):
        assert verb in text
    assert "not a medical" in text.lower()


def test_models_lists_architectures_and_shipped_models() -> None:
    text = run("models").text
    for config in ARCHITECTURES.values():
        assert f"{config.count_parameters():,}" in text
    assert "default" in text
    assert "MB" in text
    for card, _, _ in shipped_cards():
        assert card.summary in " ".join(text.split())


def test_only_scores_over_all_metal_sizes_are_listed() -> None:
    scores = {"validation: model dB": 40.0, "test, clinical, metal 9-20 px: window dB": 41.0}
    assert headline(scores, "clinical") == "-"
    of_all = "test, clinical, metal all sizes: "
    scores |= {f"{of_all}window dB": 42.04, f"{of_all}soft tissue RMSE HU": 19.26}
    assert headline(scores, "clinical") == "42.04, 19.26"
    assert headline(scores, "syndeeplesion") == "-"


def test_import_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save(LiteralACDNet(T=2, N=2, d=3, p=3, N_p=2, blocks=1).state_dict(), "c.pt")
    command = ("import-weights", "c.pt", "-o", "m.safetensors")
    done = run(*command)
    assert done.code == 0, done.text
    assert "T=2, 1 blocks" in done.text
    model, card = read_acdnet(tmp_path / "m.safetensors")
    assert model.config.T == 2
    assert card.training is None
    again = run(*command)
    assert again.code == 3
    assert "already exists" in again.text
    assert run(*command, "--force").code == 0


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["export", "default"], ["export", "default", "-o", "x", "--nonsense"]]
)
def test_wrong_usage_is_exit_2(arguments: list[str]) -> None:
    assert run(*arguments).code == 2


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        (["demo", "--method", "nonsense"], []),
        (["demo", "--method", "nonsense.safetensors"], []),
        (["export", "m.pt", "-o", "x.onnx"], ["m.pt"]),
        (["import-weights", "m.pt", "-o", "x.safetensors"], ["m.pt"]),
    ],
)
def test_F42_F43_unusable_models_are_one_line_and_exit_3(
    arguments: list[str], files: list[str], tmp_path: Path
) -> None:
    """In a process of its own, which shows what a user sees."""
    for name in files:
        (tmp_path / name).write_bytes(b"rubbish")
    command = [sys.executable, "-m", "acdnet", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("acdnet: ")
    assert (files[0] if files else arguments[-1]) in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == files
