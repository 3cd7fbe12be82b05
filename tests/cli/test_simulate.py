from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from acdnet.cli.app import app
from acdnet.data.store import Store


def test_phantoms_to_a_store_with_a_picture(tmp_path: Path) -> None:
    arguments = ["phantom", str(tmp_path / "out"), "--slices", "2", "--pairs", "1", "--size", "96"]
    arguments += ["--workers", "1", "--preview", str(tmp_path / "sheet.png"), "--protocol", "clinical"]
    done = CliRunner().invoke(app, ["simulate", *arguments])
    assert done.exit_code == 0, done.output
    assert "2 pairs of 2 slices of 2 patients" in done.output
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")
    assert Store(tmp_path / "out").size == 96
