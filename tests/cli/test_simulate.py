from pathlib import Path

from acdnet.data.store import Store
from acdnet.physics.implants.kinds import KINDS, SOLIDS
from acdnet.physics.implants.library import MAKERS
from tests.data.make import one_process
from tests.reduction.make import Ran, run


def simulate(out: Path, slices: int, *options: object) -> Ran:
    with one_process():
        return run("simulate", "phantom", out, "--slices", slices, "--pairs", 1, "--size", 96, *options)


def test_phantoms_to_a_store_with_a_picture(tmp_path: Path) -> None:
    done = simulate(tmp_path / "out", 2, "--preview", tmp_path / "sheet.png", "--protocol", "clinical")
    assert done.code == 0, done.text
    assert "2 pairs of 2 slices of 2 patients" in done.text
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")
    assert Store(tmp_path / "out").size == 96


def test_the_help_lists_all_implants() -> None:
    text = run("simulate", "--help").text
    assert [name for name in (*KINDS, *SOLIDS) if name not in text] == []


def test_every_implant_has_a_maker() -> None:
    assert list(KINDS) == list(MAKERS)


def test_implants_choose_the_phantoms(tmp_path: Path) -> None:
    assert simulate(tmp_path / "out", 3, "--implants", "fillings").code == 0
    assert {entry["site"] for entry in Store(tmp_path / "out").slices} == {"head"}


def test_slabs_of_phantoms(tmp_path: Path) -> None:
    done = simulate(tmp_path / "out", 7, "--protocol", "clinical", "--slab", 3, "--views", 1280)
    assert done.code == 0, done.text
    assert "9 pairs of 9 slices of 3 patients" in done.text
    store = Store(tmp_path / "out")
    assert [len(numbers) for numbers in store.slabs] == [3, 3, 3]
    assert {entry["pairs"][0]["kind"] for entry in store.slices} <= SOLIDS.keys()


def test_slabs_need_the_clinical_protocol(tmp_path: Path) -> None:
    done = simulate(tmp_path / "out", 3, "--slab", 3)
    assert done.code == 2
    assert "clinical" in done.text
