import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from acdnet.data.build import build
from acdnet.data.recipe import Recipe
from acdnet.data.sources import open_source
from acdnet.data.store import Store
from acdnet.errors import ConfigError, InputRefused, ResourceError
from acdnet.files import locked, sha256
from acdnet.physics.phantom import make_phantom
from tests.data.make import one_process
from tests.io.dicom.make import write_slice

SMALL = Recipe(protocol="clinical", pairs=2, size=96)


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): sha256(path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


def make(out: Path, recipe: Recipe = SMALL, slices: int = 3, workers: int = 1) -> Path:
    with one_process() if workers == 1 else nullcontext():
        list(build(open_source("phantom", slices), recipe, out, workers))
    return out


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("data") / "one")


def test_a_store_is_complete_and_describes_itself(made: Path) -> None:
    store = Store(made)
    store.verify()
    assert sorted(path.name for path in made.iterdir()) == ["manifest.json", "slices"]
    assert store.manifest["protocol"] == "clinical"
    assert len(store.slices) == 3
    for entry in store.slices:
        assert len(entry["pairs"]) == 2
        assert len(entry["source_sha256"]) == 64
        assert entry["pairs"][0]["metal_pixels"] > 0
    pair = store.pair(1, 1)
    assert pair.metal.sum() == store.slices[1]["pairs"][1]["metal_pixels"]


def test_workers_do_not_change_a_byte(made: Path, tmp_path: Path) -> None:
    assert contents(make(tmp_path / "two", workers=2)) == contents(made)


@pytest.mark.slow
def test_f44_a_killed_run_is_resumed_and_gives_the_same_files(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "killed"
    script = (
        "import sys; from pathlib import Path; from acdnet.data.build import build;"
        "from acdnet.data.recipe import Recipe; from acdnet.data.sources import open_source\n"
        "if __name__ == '__main__':\n"
        "    list(build(open_source('phantom', 3), Recipe(protocol='clinical', pairs=2, size=96), Path(sys.argv[1])))"
    )
    program = tmp_path / "run.py"
    program.write_text(script)
    process = subprocess.Popen([sys.executable, str(program), str(out)], start_new_session=True)
    deadline = time.monotonic() + 120
    while not list(out.glob(".done/*.json")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (out / "manifest.json").exists()
    assert list(out.glob(".done/*.json"))
    (out / "slices" / ".left.partial").write_text("half")
    assert contents(make(out)) == contents(made)


def test_a_finished_data_set_is_left_alone(made: Path) -> None:
    before = contents(made)
    stamps = {path: path.stat().st_mtime_ns for path in made.rglob("*")}
    make(made)
    assert contents(made) == before
    assert {path: path.stat().st_mtime_ns for path in made.rglob("*")} == stamps


def test_other_settings_do_not_mix(made: Path, tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match="other settings"):
        make(made, Recipe(protocol="clinical", pairs=2, size=96, seed=1))
    begun = tmp_path / "begun"
    begun.mkdir()
    (begun / "plan.json").write_text("{}")
    with pytest.raises(InputRefused, match="started with other settings"):
        make(begun)


def test_f38_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("dear")
    with pytest.raises(InputRefused, match="not empty"):
        make(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "dear"
    (tmp_path / "file").write_text("")
    with pytest.raises(InputRefused, match="is a file"):
        make(tmp_path / "file")


def test_f48_a_second_process_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "busy"
    out.mkdir()
    with locked(out / ".lock"), pytest.raises(ResourceError, match="another process"):
        make(out)


def test_a_lock_that_was_left_behind_does_no_harm(tmp_path: Path) -> None:
    out = tmp_path / "left"
    out.mkdir()
    (out / ".lock").write_text("")
    make(out, slices=1)


def test_a_changed_source_is_detected(tmp_path: Path) -> None:
    def source(pixel_mm: str) -> Path:
        folder = tmp_path / "in"
        folder.mkdir(exist_ok=True)
        hu = make_phantom("thorax", 0, 64).hu
        Image.fromarray((hu + 32768).astype(np.uint16)).save(folder / "a.png")
        (folder / "index.csv").write_text(f"file,patient,pixel_mm\na.png,p,{pixel_mm}\n")
        return folder

    recipe = Recipe(pairs=1, size=64)
    with one_process():
        list(build(open_source(str(source("4.0"))), recipe, tmp_path / "out"))
        with pytest.raises(InputRefused, match="other settings"):
            list(build(open_source(str(source("4.5"))), recipe, tmp_path / "out"))


def test_f55_no_written_file_names_a_patient(tmp_path: Path) -> None:
    folder = tmp_path / "Doe^Jane"
    folder.mkdir()
    hu = np.round(make_phantom("thorax", 0, 64).hu)
    who = {
        "PatientID": "4711234",
        "PatientName": "Doe^Jane",
        "PatientBirthDate": "19610203",
        "PixelSpacing": [4.5, 4.5],
    }
    write_slice(folder / "Doe.dcm", hu, **who)
    write_slice(folder / "bad.dcm", hu, **(who | {"PixelSpacing": [40.0, 40.0]}))
    with one_process():
        list(build(open_source(str(folder)), Recipe(pairs=1, size=64), tmp_path / "out", skip_bad=True))
    assert len(json.loads((tmp_path / "out/manifest.json").read_text())["skipped"]) == 1
    for path in (tmp_path / "out").rglob("*"):
        text = path.name + (path.read_bytes().decode("latin1") if path.is_file() else "")
        for word in ("Doe", "Jane", "4711234", "19610203"):
            assert word not in text


def test_layout_and_number_of_pairs_do_not_change_the_implants(tmp_path: Path) -> None:
    kinds = []
    for name, recipe in (
        ("a", Recipe(pairs=2, size=64)),
        ("b", Recipe(pairs=1, size=64)),
        ("c", Recipe(pairs=2, size=64, layout="benchmark")),
    ):
        entry = json.loads((make(tmp_path / name, recipe, slices=1) / "manifest.json").read_text())["slices"][0]
        kinds.append([(pair["kind"], pair["metal_pixels"]) for pair in entry["pairs"]])
    assert kinds[0] == kinds[2]
    assert kinds[0][:1] == kinds[1]


def test_benchmark_layout(tmp_path: Path) -> None:
    out = make(tmp_path / "bench", Recipe(pairs=1, size=64, layout="benchmark"), slices=1)
    (name,) = (out / "list.txt").read_text().split()
    assert (out / name).is_file()
    assert (out / name).parent.joinpath("0.h5").is_file()
    entry = json.loads((out / "manifest.json").read_text())["slices"][0]
    for file, digest in entry["files"].items():
        assert sha256((out / file).read_bytes()) == digest


def test_fixed_masks_are_used(tmp_path: Path) -> None:
    masks = np.zeros((128, 128, 2), np.uint8)
    masks[60:70, 60:70, 0] = masks[30:40, 60:64, 1] = 1
    np.save(tmp_path / "masks.npy", masks)
    recipe = Recipe(pairs=2, size=64, masks=str(tmp_path / "masks.npy"))
    store = Store(make(tmp_path / "fixed", recipe, slices=1))
    assert store.pair(0, 0).metal[30:35, 30:35].all()
    assert store.pair(0, 0).metal.sum() == 25
    with pytest.raises(InputRefused, match="has 2 masks"):
        make(tmp_path / "more", Recipe(pairs=3, size=64, masks=str(tmp_path / "masks.npy")))


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        (np.zeros((1, 64, 64)), "has no shape"),
        (np.stack([np.zeros((64, 64)), np.eye(64)]), "mask 0.*empty"),
        (np.eye(512)[None] * 0 + (np.arange(512) == 7)[:, None] * (np.arange(512) == 9), "mask 0.*empty"),
        (np.ones((1, 64, 32)), "squares"),
        (np.ones((1, 64, 64)), "inverted"),
    ],
    ids=["zeros", "one of zeros", "vanishes when made smaller", "not square", "everywhere"],
)
def test_unusable_masks_are_refused(tmp_path: Path, masks: np.ndarray[Any, Any], message: str) -> None:
    np.save(tmp_path / "m.npy", masks)
    with pytest.raises(InputRefused, match=message):
        make(tmp_path / "out", Recipe(pairs=1, size=64, masks=str(tmp_path / "m.npy")))


@pytest.mark.parametrize(
    "settings",
    [
        {"protocol": "x"},
        {"layout": "zip"},
        {"layout": "benchmark", "protocol": "clinical"},
        {"pairs": 0},
        {"size": 8},
        {"seed": -1},
        {"kinds": ("knee",)},
        {"material": "wood"},
        {"masks": "m.npy", "shapes": "s.npy"},
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        Recipe(**settings)  # type: ignore[arg-type]
