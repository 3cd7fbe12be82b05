"""Results with altered files in the viewer: each is shown or refused in one line."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import nibabel
import numpy as np
import pydicom
from fastapi.testclient import TestClient

from acdnet.errors import InputRefused
from acdnet.viewer.app import make_app
from tests.reduction.make import run, series, volume
from tests.viewer.server import API, PORT, TOKEN

SLICES = (False, True)
LAYERS = ("before", "after", "difference", "metal", "expected_error_hu", "m0", "clean", "m1-clean")
CODES = {200, 204, 400}
VALUES: list[Any] = [
    *(
        None,
        True,
        0,
        -1,
        10**14,
        10**400,
        1e300,
        1e-300,
        0.5,
        "",
        "x" * 10**5,
        "\ud800",
        "\x00",
        [],
        {},
        [[[]]],
        [1, 1],
    ),
    *("ACDNet", "a" * 64, [{}], [{"status": 1}], {"a": {"b": 1}}, "<script>", "passed through", "unchanged"),
]
TAGS: list[tuple[str, Any]] = [
    *(("Rows", 0), ("Rows", 65535), ("Columns", 1), ("BitsStored", 1), ("BitsAllocated", 8), ("PixelSpacing", [0, 0])),
    *(("PixelSpacing", [1]), ("RescaleSlope", 0), ("RescaleSlope", 1e30), ("RescaleIntercept", 1e30)),
    *(("ImageOrientationPatient", [0] * 6), ("ImageOrientationPatient", [1]), ("PhotometricInterpretation", "RGB")),
    *(("PixelPaddingValue", -5), ("SamplesPerPixel", 3), ("NumberOfFrames", 9), ("AnatomicalOrientationType", "X")),
]


def altered(count: int, seed: int, folder: Path) -> Counter[str]:
    """Alter results of every format, one at a time; return how they ended. A wrong end raises an AssertionError."""
    folder.mkdir(parents=True, exist_ok=True)
    whole, ends = _whole(folder), Counter[str]()
    for n in range(count):
        random, copy = Random(f"{seed} {n}"), folder / "copy"
        shutil.copytree(random.choice(whole), copy)
        changed = _alter(random, copy)
        try:
            ends[_look(copy)] += 1
        except Exception as error:
            raise AssertionError(f"result {n} of seed {seed}, {changed}: {error!r}") from error
        shutil.rmtree(copy)
    left = {path.name for path in folder.iterdir() if path.name.startswith(".")}
    assert not left, left
    return ends


def _whole(folder: Path) -> list[Path]:
    """Reduce a scan of every format."""
    data = volume(SLICES).astype(np.int16)
    series(folder / "dicom", SLICES)
    np.save(folder / "array.npy", data)
    for ending in ("nii", "nii.gz"):
        nibabel.save(nibabel.Nifti1Image(data.transpose(2, 1, 0), np.diag([-2, -2, 3, 1])), folder / f"volume.{ending}")
    sources = [("dicom",), ("volume.nii",), ("volume.nii.gz",), ("array.npy", "--pixel-mm", "2")]
    for n, (name, *options) in enumerate(sources):
        done = run("reduce", folder / name, folder / f"whole-{n}", "--method", "li", *options)
        assert done.code == 0, done.text
    return [*(folder / f"whole-{n}" for n in range(len(sources))), _evaluation(folder / "evaluation")]


def _evaluation(folder: Path) -> Path:
    """Write what `acdnet evaluate` leaves for the viewer."""
    folder.mkdir()
    arrays: dict[str, Any] = {
        "cases": np.array(["a", "b"]),
        "methods": np.array(["Input", "LI"]),
        "pixel_mm": np.ones(2),
    }
    for n in range(2):
        arrays |= {f"{n}/{name}": np.zeros((96, 96), np.int16) for name in ("clean", "m0", "m1", "metal")}
    np.savez(folder / "cases.npz", **arrays)
    (folder / "report.json").write_text(
        json.dumps({"tables": [{"title": "A", "rows": []}], "data": "b", "protocol": "c"})
    )
    return folder


def _alter(random: Random, folder: Path) -> str:
    """Change one file of a result; return which."""
    ways: list[Callable[[Random, Path], None]] = [_alter_bytes, _cut, _exchange]
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".html", ".csv"))
    path = folder / "report.json" if random.random() < 0.3 else random.choice(files)
    special = {".json": _alter_json, ".dcm": _alter_tag, ".npz": _alter_arrays}
    way = special[path.suffix] if path.suffix in special and random.random() < 0.7 else random.choice(ways)
    way(random, path)
    return f"{way.__name__} {path.relative_to(folder)}"


def _alter_bytes(random: Random, path: Path) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(random.randint(1, 8)):
        data[random.randrange(min(len(data), random.choice([400, 4000, len(data)])))] = random.choice([0, 1, 127, 255])
    path.write_bytes(data)


def _cut(random: Random, path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: random.randrange(len(data))])


def _exchange(random: Random, path: Path) -> None:
    """Put a folder, nothing, or another file in its place."""
    others = sorted(other for other in path.parent.iterdir() if other.is_file() and other != path)
    data = random.choice(others).read_bytes() if others and random.random() < 0.5 else None
    path.unlink()
    if data is not None:
        path.write_bytes(data)
    elif random.random() < 0.5:
        path.mkdir()


def _alter_json(random: Random, path: Path) -> None:
    report = json.loads(path.read_text())
    place = random.choice([report, random.choice(report.get("slices") or report["tables"])])
    place[random.choice([*place, "counts", "cautions", "tables"])] = random.choice(VALUES)
    path.write_text(json.dumps(report))


def _alter_tag(random: Random, path: Path) -> None:
    dataset = pydicom.dcmread(path)
    tag, value = random.choice(TAGS)
    with suppress(Exception), pydicom.config.disable_value_validation():
        setattr(dataset, tag, value)
        if random.random() < 0.3:
            delattr(dataset, random.choice(TAGS)[0])
        dataset.save_as(path)


def _alter_arrays(random: Random, path: Path) -> None:
    with np.load(path) as loaded:
        arrays = dict(loaded)
    for _ in range(random.randint(1, 2)):
        arrays[random.choice([*arrays])] = _odd(random)
    if random.random() < 0.2:
        del arrays[random.choice([*arrays])]
    np.savez(path, **arrays)


def _odd(random: Random) -> np.ndarray[Any, Any]:
    shape = random.choice([(), (0,), (1,), (2,), (96,), (96, 96), (1, 96, 96), (96, 95)])
    kind = random.choice("?bHqQefdgFUSVM")
    value: Any = np.full(shape, random.randrange(256), np.uint8)
    if kind in "efdg":
        value = np.full(shape, random.choice([np.nan, np.inf, 1e300, -0.0]))
    if kind in "USV":
        return np.frombuffer(value.tobytes() * 4, f"{kind}{1 if kind == 'U' else 4}")
    with np.errstate(all="ignore"):
        return np.asarray(value.astype("M8[D]" if kind == "M" else kind))


def _look(folder: Path) -> str:
    """Look at everything of a result; return whether it was shown, or refused at once or later."""
    try:
        app = make_app(TOKEN, {"result": folder}, port=PORT)
    except InputRefused:
        return "refused"
    base, codes = f"{API}/results/result", set[int]()
    client = TestClient(app, f"http://127.0.0.1:{PORT}")
    slices = [f"/slices/{n}/{layer}" for n in range(len(SLICES)) for layer in LAYERS]
    for path in ("", *slices, "/slices/1/stages/about"):
        answer = client.get(base + path)
        assert answer.status_code in CODES, (path, answer.status_code)
        assert str(folder) not in answer.text
        if answer.status_code == 400 and "no layer" not in answer.text and not path.endswith("about"):
            codes.add(400)
    return "refused later" if codes else "shown"
