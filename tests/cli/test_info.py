import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from acdnet.data.recipe import Recipe
from acdnet.weights.save import save_model
from tests.data.make import small_store
from tests.helpers import SMALL, make_model
from tests.io.test_open import nifti
from tests.reduction.make import reduce, run, series


def test_files_and_folders_are_described(tmp_path: Path) -> None:
    source = series(tmp_path / "in")
    assert "1: 3 slices of 96 x 96, 2 x 2 mm" in run("info", source).text
    series(tmp_path / "in/more", SeriesInstanceUID="1.2.3", FrameOfReferenceUID="1.2.4")
    several = run("info", source).text
    assert "2 CT series" in several
    assert "--series N" in several
    assert "Secret" not in several
    assert "2 axial slices of 70 x 80" in run("info", nifti(tmp_path / "a.nii.gz", np.zeros((80, 70, 2)))).text
    np.save(tmp_path / "a.npy", np.zeros((4, 5), np.int16))
    assert "int16 4 x 5" in run("info", tmp_path / "a.npy").text
    assert "pairs" in run("info", small_store(tmp_path, 3)).text
    fitted = small_store(tmp_path, 1, "fitted", Recipe("clinical", pairs=1, size=64, tracefit=True))
    assert run("info", fitted).text.strip().endswith("with tracefit")
    for last in ("none", "trace_correction"):
        model = tmp_path / f"{last}.safetensors"
        scores = {"test, clinical, metal 9-20 px: dB": 40.5, "test, clinical, metal all sizes: dB": 41.5}
        save_model(make_model(replace(SMALL, last=last)), model, name=last, summary="for a test", scores=scores)
        printed = run("info", model).text
        assert "metal all sizes: dB: 41.5" in printed
        assert "40.5" not in printed
        assert "starts from the image of li" in printed
        assert ("trace correction" in printed) == (last == "trace_correction")
    reduce(series(tmp_path / "one"), tmp_path / "out")
    assert "by LI: 2 reduced, 1 unchanged" in run("info", tmp_path / "out").text
    assert "by LI: 2 reduced, 1 unchanged" in run("info", tmp_path / "out/report.json").text


@pytest.mark.parametrize("data", ["[]", "{}", "nonsense", '{"counts": 3}'])
def test_unknown_files_are_refused(tmp_path: Path, data: str) -> None:
    assert run("info", tmp_path / "no").code == 3
    (tmp_path / "report.json").write_text(data)
    assert run("info", tmp_path).code == 3


def test_it_needs_no_torch(tmp_path: Path) -> None:
    import subprocess

    script = "import sys; sys.modules['torch'] = None; from acdnet.cli import main; main()"
    source = series(tmp_path / "in")
    done = subprocess.run(
        [sys.executable, "-c", script, "info", str(source)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "3 slices" in done.stdout
