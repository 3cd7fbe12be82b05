"""The command line as its users meet it."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import acdnet
from acdnet.cli.models import headline
from acdnet.config import ARCHITECTURES
from acdnet.weights.load import read_acdnet
from acdnet.weights.shipped import shipped_cards
from benchmarks.literal import LiteralACDNet


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "acdnet", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env=None)


def test_version() -> None:
    assert run("--version").stdout == f"acdnet {acdnet.__version__}\n"


def test_help_names_every_verb_and_the_limits() -> None:
    text = run("--help").stdout
    for verb in ("demo", "models", "import-weights", "export"):
        assert verb in text
    assert "not a medical" in text.lower()


def test_models_lists_architectures_and_shipped_models() -> None:
    text = run("models").stdout
    for config in ARCHITECTURES.values():
        assert f"{config.count_parameters():,}" in text
    assert "default" in text
    assert "MB" in text
    for card, _, _ in shipped_cards():
        assert card.summary in " ".join(text.split())


def test_of_many_scores_only_those_over_all_sizes_are_listed() -> None:
    scores = {"validation: model dB": 40.0, "test, clinical, metal 9-20 px: window dB": 41.0}
    assert headline(scores, "clinical") == "-"
    of_all = "test, clinical, metal all sizes: "
    scores |= {f"{of_all}window dB": 42.04, f"{of_all}soft tissue RMSE HU": 19.26}
    assert headline(scores, "clinical") == "42.04, 19.26"
    assert headline(scores, "syndeeplesion") == "-"


def test_import_weights(tmp_path: Path) -> None:
    torch.save(LiteralACDNet(T=2, N=2, d=3, p=3, N_p=2, blocks=1).state_dict(), tmp_path / "c.pt")
    done = run("import-weights", "c.pt", "-o", "m.safetensors", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "T=2, 1 blocks" in done.stdout
    model, card = read_acdnet(tmp_path / "m.safetensors")
    assert model.config.T == 2
    assert card.training is None
    again = run("import-weights", "c.pt", "-o", "m.safetensors", cwd=tmp_path)
    assert again.returncode == 3
    assert "already exists" in again.stderr
    assert run("import-weights", "c.pt", "-o", "m.safetensors", "--force", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["export", "default"], ["export", "default", "-o", "x", "--format", "y"]]
)
def test_wrong_usage_is_exit_2(arguments: list[str]) -> None:
    assert run(*arguments).returncode == 2


@pytest.mark.parametrize(("model", "code"), [("nonsense", 2), ("nonsense.safetensors", 3)])
def test_an_unknown_model_is_one_line(tmp_path: Path, model: str, code: int) -> None:
    done = run("demo", "--method", model, cwd=tmp_path)
    assert done.returncode == code
    assert done.stderr.splitlines() == [done.stderr.strip()]
    assert model in done.stderr
    assert list(tmp_path.iterdir()) == []
