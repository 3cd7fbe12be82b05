"""What `acdnet reduce` reads and writes: no path from a tag, no link that leads out, nothing that was there before."""

import hashlib
from pathlib import Path

import pydicom
import pytest

from tests.reduction.make import reduce, series


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.rglob("*") if p.is_file()
    }


def test_f36_names_from_files_are_never_paths(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True,), SeriesDescription="xx/xx/evil" + "z" * 40)
    file = source / "IM0001.dcm"
    data = file.read_bytes().replace(b"xx/xx/evil", b"../..\0evil")
    uid = str(pydicom.dcmread(file).SOPInstanceUID).encode()
    file.write_bytes(data.replace(uid, b"../../../etc/passwd".ljust(len(uid), b"x")))
    before = {path for path in tmp_path.rglob("*") if not path.is_relative_to(tmp_path / "out")}
    done = reduce(source, tmp_path / "out")
    assert done.code == 0, done.text
    assert {path for path in tmp_path.rglob("*") if not path.is_relative_to(tmp_path / "out")} == before
    assert {path.name for path in (tmp_path / "out/reduced").iterdir()} == {"0001.dcm"}


def test_f37_links_that_lead_out(tmp_path: Path) -> None:
    source, other = series(tmp_path / "in"), series(tmp_path / "other")
    (source / "link.dcm").symlink_to(other / "IM0001.dcm")
    assert "link" in (done := reduce(source, tmp_path / "out")).text
    assert done.code == 3
    (source / "link.dcm").unlink()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
    assert reduce(source, tmp_path / "out").code == 3
    assert not any((tmp_path / "elsewhere").iterdir())


def test_f38_an_output_that_is_in_the_way(tmp_path: Path) -> None:
    source = series(tmp_path / "in")
    before = hashes(source)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/notes").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for out in (source, source / "inside", tmp_path / "full", tmp_path / "file", tmp_path / "no/where"):
        assert reduce(source, out).code == 3
    assert hashes(source) == before
    assert (tmp_path / "full/notes").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    assert reduce(source, tmp_path / "empty").code == 0
    assert hashes(source) == before


def test_f38_a_foreign_folder_in_place_of_the_partial_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, mine = series(tmp_path / "in"), tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years")
    (tmp_path / ".out.partial").symlink_to(mine)
    assert reduce(source, tmp_path / "out").code == 3
    (tmp_path / ".out.partial").unlink()
    mine.rename(tmp_path / ".out.partial")
    assert reduce(source, tmp_path / "out").code == 3
    assert (tmp_path / ".out.partial/thesis.txt").read_text() == "years"
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert "current folder" in reduce(source, Path()).text
    assert not any((tmp_path / "here").iterdir())
