from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from acdnet.cli.app import app
from acdnet.cli.simulate import IMPLANTS
from acdnet.data.store import Store
from acdnet.physics.implants.library import KINDS


def test_phantoms_to_a_store_with_a_picture(tmp_path: Path) -> None:
    arguments = ["phantom", str(tmp_path / "out"), "--slices", "2", "--pairs", "1", "--size", "96"]
    arguments += ["--workers", "1", "--preview", str(tmp_path / "sheet.png"), "--protocol", "clinical"]
    done = CliRunner().invoke(app, ["simulate", *arguments])
    assert done.exit_code == 0, done.output
    assert "2 pairs of 2 slices of 2 patients" in done.output
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")
    assert Store(tmp_path / "out").size == 96


def test_the_help_lists_all_implants() -> None:
    assert sorted(IMPLANTS.split(", ")) == sorted(KINDS)


def test_implants_choose_the_phantoms(tmp_path: Path) -> None:
    arguments = ["phantom", str(tmp_path / "out"), "--slices", "3", "--pairs", "1", "--size", "96", "--workers", "1"]
    done = CliRunner().invoke(app, ["simulate", *arguments, "--implants", "fillings"])
    assert done.exit_code == 0, done.output
    assert {entry["site"] for entry in Store(tmp_path / "out").slices} == {"head"}
