"""Results and jobs on disk that are cut off, changed or made up, and questions that no page asks."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from acdnet.errors import InputRefused
from acdnet.viewer import result as result_module
from acdnet.viewer.app import make_app
from acdnet.viewer.images import open_images
from acdnet.viewer.jobs import Jobs
from acdnet.viewer.result import open_result
from acdnet.viewer.safe_read import load_arrays
from tests.reduction.make import run, series

TOKEN, PORT = "a-token-that-nobody-knows", 8123
SHAPE = (96, 96)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    assert run("reduce", series(folder / "scan"), folder / "out", "--method", "li").code == 0
    return folder / "out"


@pytest.fixture
def reduced(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "out")
    return tmp_path / "out"


def change(folder: Path, **values: Any) -> None:
    report = json.loads((folder / "report.json").read_text())
    (folder / "report.json").write_text(json.dumps(report | values))


@pytest.mark.parametrize("slices", [None, [], {}, "many", 3, [None, None, None], [{}, {}, 1]])
def test_slices_that_are_no_list_of_records(reduced: Path, slices: Any) -> None:
    change(reduced, slices=slices)
    with pytest.raises(InputRefused, match=r"report\.json"):
        open_result(reduced)


@pytest.mark.parametrize(
    "values",
    [
        *({"spacing_mm": bad} for bad in (None, "x", [1], [1, 0], [1, "a"], [True, 1], [1, 2, 3])),
        *({"cautions": 3}, {"counts": []}),
    ],
)
def test_other_values_that_make_no_sense(reduced: Path, values: dict[str, Any]) -> None:
    change(reduced, **values)
    with pytest.raises(InputRefused, match="report"):
        open_result(reduced)


@pytest.mark.parametrize("number", ["1e999", "NaN", "-Infinity"])
def test_numbers_that_are_none(reduced: Path, number: str) -> None:
    text = json.dumps({"slices": [{"mean_change_hu": 12345}] * 3}).replace("12345", number)
    (reduced / "report.json").write_text(text)
    with pytest.raises(InputRefused, match="is not valid JSON"):
        open_result(reduced)


@pytest.mark.parametrize(
    ("arrays", "what"),
    [
        ({"expected_error_hu": np.zeros(SHAPE, np.uint16)}, "metal is missing"),
        ({"metal": np.zeros((80, 96), bool)}, r"metal is bool of shape \(80, 96\)"),
        ({"metal": np.array(["x"])}, "metal is <U1"),
        ({"metal": np.zeros(SHAPE, bool), "expected_error_hu": np.zeros(3)}, "expected_error_hu is float64"),
    ],
)
def test_maps_that_do_not_fit(reduced: Path, arrays: dict[str, Any], what: str) -> None:
    np.savez(reduced / "maps/0002.npz", **arrays)
    result = open_result(reduced)
    with pytest.raises(InputRefused, match=what):
        result.metal(1)
    with make_client(reduced) as client:
        answer = client.get(f"/{TOKEN}/api/results/result/slices/1/metal")
        assert answer.status_code == 400
        assert answer.json()["error"].startswith("maps/0002.npz: ")  # not where it lies


def test_maps_are_read_once(reduced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []

    def noted(path: Path, limit: int) -> Any:
        read.append(path)
        return load_arrays(path, limit)

    monkeypatch.setattr(result_module, "load_arrays", noted)
    result = open_result(reduced)
    for _ in range(3):
        for n in (0, 1, 2):
            result.metal(n)
            result.expected_error_hu(n)
    assert [path.name for path in read] == ["0002.npz", "0003.npz"]


def test_arrays_that_unpack_to_too_much(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", metal=np.zeros(2**20, np.uint8))
    assert load_arrays(tmp_path / "a.npz", 2**21)["metal"].size == 2**20
    with pytest.raises(InputRefused, match="unpacks to more than"):
        load_arrays(tmp_path / "a.npz", 2**19)
    with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive:
        archive.writestr("metal.npy", b"no array")
    (tmp_path / "c.npz").write_bytes(b"no archive")
    for name in ("b", "c", "d"):
        with pytest.raises(InputRefused, match="cannot be read"):
            load_arrays(tmp_path / f"{name}.npz", 2**20)["metal"].any()


def evaluation(folder: Path, **values: Any) -> Path:
    arrays: dict[str, Any] = {"cases": np.array(["a", "b"]), "methods": np.array(["Input", "LI"])}
    for n in range(2):
        arrays |= {f"{n}/{name}": np.zeros((9, 7), np.int16) for name in ("clean", "m0", "m1")}
        arrays[f"{n}/metal"] = np.zeros((9, 7), bool)
    arrays = {name: array for name, array in (arrays | values).items() if array is not None}
    np.savez(folder / "cases.npz", **arrays)
    (folder / "report.json").write_text(json.dumps({"tables": []}))
    return folder


def test_evaluations_are_whole(tmp_path: Path) -> None:
    assert open_result(evaluation(tmp_path)).count == 2
    bad: list[dict[str, Any]] = [{f"1/{name}": None} for name in ("clean", "metal", "m0", "m1")]
    bad += [{"1/m1": np.zeros((7, 9))}, {"0/clean": np.zeros(9)}, {"0/metal": np.array("x")}]
    bad += [{"cases": None}, {"methods": np.array("x")}, {"cases": np.array([], str)}, {"methods": np.arange(3)}]
    for values in bad:
        with pytest.raises(InputRefused, match=r"cases\.npz"):
            open_result(evaluation(tmp_path, **values))
    odd = open_result(evaluation(tmp_path, pixel_mm=np.array(["x", "y"])))
    assert odd.plane(1).spacing_mm is None


def test_stray_files_are_not_slices(reduced: Path) -> None:
    for name in (".DS_Store", "0002.dcm.bak", "Thumbs.db", "notes.txt"):
        (reduced / "reduced" / name).write_text("x")
    assert open_result(reduced).count == 3


def test_ten_thousand_slices_are_in_order(tmp_path: Path) -> None:
    (tmp_path / "reduced").mkdir()
    for number in (9998, 9999, 10000, 10001):
        (tmp_path / "reduced" / f"{number:04d}.png").touch()
    images: Any = open_images(tmp_path, "reduced")
    assert [int(file.stem) for file in images.files] == [9998, 9999, 10000, 10001]


NAME = "0123456789abcdef"
JOB: dict[str, Any] = {"id": NAME, "number": 1, "state": "queued", "created": 1.0, "files": 1}


@pytest.mark.parametrize(
    "values",
    [
        *({"number": bad} for bad in (None, "1", 1.5, True, -1)),
        *({"id": bad} for bad in (None, "../victim", "f" * 16)),
        *({"state": bad} for bad in (None, "x", ["queued"])),
        *({"choices": bad} for bad in ("x", [1], None)),
        *({"created": None}, {"kind": "../x"}, {"any_plane": 1}, {"needs": "money"}, {"bytes": None}, {"series": -1}),
    ],
)
def test_jobs_that_nobody_wrote_are_left_alone(values: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    write_job(folder, json.dumps(JOB | values))
    jobs = Jobs(folder, start=False)
    assert jobs.all() == []
    assert jobs.create(1, "dicom").number == 1
    jobs.close()
    assert json.loads((folder / NAME / "job.json").read_text()) == JOB | values
    assert [path.name for path in tmp_path.iterdir()] == ["jobs"]


def test_jobs_that_are_no_json_do_not_stop_the_server(tmp_path: Path) -> None:
    texts = ("", "null", "[]", "[" * 100_000, '{"number": 1e999}', "\x00", json.dumps(JOB).replace("1.0", "NaN"))
    for text in texts:
        write_job(tmp_path, text)
        jobs = Jobs(tmp_path, start=False)
        assert jobs.all() == []
        jobs.close()
    write_job(tmp_path, json.dumps(JOB))
    (tmp_path / ".numbers").write_text("-5")
    (tmp_path / NAME / "progress.json").write_text('{"done": NaN}')
    jobs = Jobs(tmp_path, start=False)
    assert [job.id for job in jobs.all()] == [NAME]
    assert jobs.progress(NAME) == {}
    assert jobs.create(1, "dicom").number == 2
    jobs.close()


def write_job(folder: Path, text: str) -> None:
    (folder / NAME).mkdir(parents=True, exist_ok=True)
    (folder / NAME / "job.json").write_text(text)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    jobs = Jobs(tmp_path / "jobs", start=False)
    with TestClient(make_app(TOKEN, {}, jobs, port=PORT), base_url=f"http://127.0.0.1:{PORT}") as opened:
        yield opened
    jobs.close()


@pytest.mark.parametrize(
    "text",
    [
        *('{"files": 1e999, "kind": "dicom"}', '{"files": NaN, "kind": "dicom"}', '{"files": null}', "", "\xff", "3"),
        *("[" * 4000, '{"files": ' + "9" * 4000 + "}", '{"files": 1, "kind": "dicom"}' + " " * 5000),
    ],
)
def test_questions_that_no_page_asks(client: TestClient, text: str) -> None:
    base = f"/{TOKEN}/api/jobs"
    name = client.post(base, json={"files": 1, "kind": "dicom"}).json()["id"]
    for path in (base, f"{base}/{name}/choose"):
        answer = client.post(path, content=text.replace("files", "answer") if path != base else text)
        assert answer.status_code == 400
        assert answer.json()["error"]
    assert len(client.get(base).json()) == 1


def make_client(folder: Path) -> TestClient:
    return TestClient(make_app(TOKEN, {"result": folder}, port=PORT), base_url=f"http://127.0.0.1:{PORT}")
