"""The network stages of a reduced slice."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from acdnet.errors import InputRefused
from acdnet.viewer.result import open_result
from acdnet.viewer.stages import StageCache, Stages, StageView
from acdnet.viewer.view_model import ViewModel
from tests.reduction.make import change_report, report, run, series, volume
from tests.viewer.server import API, client_of


@pytest.mark.parametrize("metal_hu", [3071.0, 12_000.0])
def test_inside_the_network(metal_hu: float, tmp_path: Path) -> None:
    scan = series(tmp_path / "scan", hu=volume(metal_hu=metal_hu))
    assert run("reduce", scan, tmp_path / "out").code == 0
    result = open_result(tmp_path / "out")
    inside = StageView(result)
    assert inside.why_unavailable() == ""
    about = inside.describe(1)
    assert about["stages"] == len(about["kernels"]) == len(about["residual_hu"])
    assert about["images"] == about["stages"] + 2  # the start, the stages, the last clean-up
    last = inside.image(1, "images", about["images"] - 1)
    metal = result.metal(1)
    assert metal is not None
    assert np.abs(last - result.image(1, "after"))[~metal].max() < 1.0  # the page shows what was written
    assert inside.image(1, "maps", 0, 2).shape == last.shape
    with pytest.raises(InputRefused, match="slice 1 has no metal"):
        inside.describe(0)
    with pytest.raises(InputRefused, match="no artifacts of stage 99"):
        inside.image(1, "artifacts", 99)
    with pytest.raises(InputRefused, match="no map"):
        inside.image(1, "maps", 0, 99)


def changed(reduced: Path, folder: Path, **values: Any) -> ViewModel:
    """Open a copy of a result with another report."""
    shutil.copytree(reduced, folder, dirs_exist_ok=True)
    return open_result(change_report(folder, **values))


def test_why_there_are_no_stages(reduced: Path, reduced_by_li: Path, tmp_path: Path) -> None:
    why = StageView(open_result(reduced_by_li)).why_unavailable()
    assert "made by LI" in why
    assert "not a network" in why
    assert "--model" not in why
    other = changed(reduced, tmp_path, weights="0" * 64)
    assert "--model" in StageView(other).why_unavailable()
    assert "is not the model" in StageView(other, "default").why_unavailable()
    other = changed(reduced, tmp_path, weights="0" * 64, method="CNNMAR (some-model)")
    assert "made by CNNMAR (some-model), another network" in StageView(other, "default").why_unavailable()


def test_a_slice_that_was_passed_through_has_no_stages(reduced: Path, tmp_path: Path) -> None:
    slices = report(reduced)["slices"]
    slices[1] |= {"status": "passed through", "reason": "the result would be worse"}
    inside = StageView(changed(reduced, tmp_path, slices=slices))
    for ask in (inside.describe, lambda n: inside.image(n, "images", 0)):
        with pytest.raises(InputRefused, match="slice 2 was not reduced: the result would be worse"):
            ask(1)
    assert inside.describe(2)["stages"] > 0
    with client_of({"result": tmp_path}) as page:
        answer = page.get(f"{API}/results/result/slices/1/stages/about")
        assert answer.status_code == 400
        assert "would be worse" in answer.json()["error"]


def test_no_stages_of_a_closed_result_are_kept(reduced: Path) -> None:
    cache = StageCache()
    inside, early, other = (StageView(open_result(reduced), "", cache) for _ in range(3))
    some = Stages([], [], [], [], [], [], np.zeros(1, np.float32))

    def compute() -> Stages:
        inside.close()  # the scan is deleted meanwhile
        return some

    cache.compute((inside.owner, 1), compute)
    assert not cache.kept
    early.close()  # after it was opened, and before the work began
    cache.compute((early.owner, 1), lambda: some)
    assert not cache.kept
    cache.compute((other.owner, 1), lambda: some)
    assert list(cache.kept) == [(other.owner, 1)]
    other.close()
    assert not cache.kept


def test_the_network_works_on_one_slice_at_a_time(reduced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go, running, most = Event(), Event(), 0, 0
    computed: list[int] = []

    def slow(_: StageView, number: int) -> Stages:
        nonlocal running, most
        running += 1
        most = max(most, running)
        computed.append(number)
        begun.set()
        assert go.wait(30)
        running -= 1
        small = np.zeros((1, 3, 3), np.float32)
        one = [small]
        return Stages(one, one, one, one, one, one, small)

    monkeypatch.setattr(StageView, "_compute", slow)
    with client_of({"one": reduced, "two": reduced}) as client, ThreadPoolExecutor(16) as pool:
        paths = [f"{API}/results/{name}/slices/{n}/stages/about" for name in ("one", "two") for n in (1, 2)]
        first = pool.submit(client.get, paths[0])
        assert begun.wait(30)
        others = list(pool.map(client.get, paths * 3))
        assert {answer.status_code for answer in others} == {503}
        assert {answer.headers["retry-after"] for answer in others} == {"1"}
        assert client.get(f"{API}/results/two/slices/1/after").status_code == 200  # pictures do not wait
        go.set()
        assert first.result().status_code == 200
        for path in paths * 2:
            assert client.get(path).status_code == 200
    assert most == 1
    assert computed == [1, 2] * 4  # two are kept, whichever result they are of
