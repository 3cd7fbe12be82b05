"""The objects of a result, whole and damaged."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acdnet.errors import InputRefused
from acdnet.viewer.objects import MAX_OBJECTS, objects_in, read_objects
from acdnet.viewer.result import open_result
from tests.reduction.make import SIZE, change_report
from tests.viewer.objects import entries, labels, write_objects
from tests.viewer.server import API, client_of


@pytest.fixture
def marked(reduced_by_li: Path, tmp_path: Path) -> Path:
    """Copy a result and write objects into it."""
    shutil.copytree(reduced_by_li, tmp_path / "out")
    return write_objects(tmp_path / "out")


def test_objects_are_described_and_sent(marked: Path) -> None:
    result = open_result(marked)
    assert result.describe()["objects"] == entries()
    with client_of({"result": marked}) as client:
        assert client.get(f"{API}/results/result").json()["objects"] == entries()
        for n in range(3):
            answer = client.get(f"{API}/results/result/slices/{n}/objects")
            assert np.array_equal(np.frombuffer(answer.content, "<u2").reshape(SIZE, SIZE), labels(n))
        (marked / "maps/0001.npz").unlink()
    with client_of({"result": marked}) as client:
        assert client.get(f"{API}/results/result/slices/0/objects").status_code == 204


def test_a_report_without_objects_has_none(marked: Path) -> None:
    report = json.loads((marked / "report.json").read_text())
    del report["objects"]
    (marked / "report.json").write_text(json.dumps(report))
    for n in range(3):
        path = marked / f"maps/{n + 1:04d}.npz"
        np.savez(path, metal=np.load(path)["metal"])
    result = open_result(marked)
    assert result.describe()["objects"] == []
    assert result.objects(1) is None
    assert result.metal(1) is not None
    assert objects_in(marked) == ([], "")


@pytest.mark.parametrize(
    "change",
    [
        *({"number": bad} for bad in (0, 2, "1", 1.0, True, None)),
        *({"decision": bad} for bad in ("", "maybe", 1, None, ["metal"])),
        *({"probability": bad} for bad in (-0.1, 1.1, "0.5", None, True)),
        *({"first_slice": 0}, {"first_slice": 3}, {"last_slice": 4}, {"slice": 1}, {"slice": 2.0}),
        *({"row": -1}, {"column": "x"}, {"pixels": -1}, {"peak_hu": "high"}),
    ],
)
def test_impossible_objects_are_refused(change: dict[str, Any], marked: Path) -> None:
    change_report(marked, objects=[entries()[0] | change])
    with pytest.raises(InputRefused, match=r"report\.json: object 1"):
        open_result(marked)
    assert objects_in(marked) == ([], "")


@pytest.mark.parametrize("objects", [None, {}, "x", 3, [None], [[]], [{}], [{"number": 1}]])
def test_what_is_no_list_of_objects_is_refused(objects: Any) -> None:
    with pytest.raises(InputRefused, match="the report: object"):
        read_objects({"objects": objects}, 3, "the report")


def test_too_many_objects_are_refused() -> None:
    with pytest.raises(InputRefused, match="at most 65,535"):
        read_objects({"objects": [None] * (MAX_OBJECTS + 1)}, 3, "the report")


@pytest.mark.parametrize(
    "values",
    [
        np.full((SIZE, SIZE), 4, np.uint16),
        np.full((SIZE, SIZE), -1, np.int16),
        np.ones((SIZE, SIZE), np.float32),
        np.ones((SIZE, SIZE), bool),
        np.ones((SIZE, 3), np.uint16),
        np.array(["x"]),
    ],
)
def test_labels_that_do_not_fit_are_refused(values: Any, marked: Path) -> None:
    np.savez(marked / "maps/0002.npz", metal=np.zeros((SIZE, SIZE), bool), objects=values)
    with pytest.raises(InputRefused, match=r"0002\.npz: objects"):
        open_result(marked).objects(1)
