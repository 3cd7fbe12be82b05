from pathlib import Path

import pydicom
import pytest

from acdnet.batch.find import Part, Task, find_tasks
from acdnet.errors import ConfigError, InputRefused
from acdnet.io.dicom.series import find_series
from tests.batch.make import tree
from tests.reduction.make import series


def found(source: Path, part: str = "1/1") -> list[Task]:
    return find_tasks(source, Part.parse(part), lambda _: None)


def test_series_are_found_at_any_depth_with_the_keys_of_reports(tmp_path: Path) -> None:
    tasks = found(tree(tmp_path / "in"))
    assert {task.key for task in tasks} == {one.key[:16] for one in find_series(tmp_path / "in").series}
    assert sorted(len(task.files) for task in tasks) == [1, 2, 2, 2]


def test_a_series_in_two_folders_is_one(tmp_path: Path) -> None:
    source = series(tmp_path / "in" / "a", (True, True))
    (tmp_path / "in" / "b").mkdir()
    (source / "IM0002.dcm").rename(tmp_path / "in" / "b" / "IM0002.dcm")
    assert [len(task.files) for task in found(tmp_path / "in")] == [2]


def test_parts_cover_everything_once(tmp_path: Path) -> None:
    source = tree(tmp_path / "in", good=3)
    parts = [found(source, f"{n}/2") for n in (1, 2)]
    assert sorted(task.key for part in parts for task in part) == [task.key for task in found(source)]
    assert all(parts)


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/0", "a/b", "-1/2", "1/2/3", "²/3"])
def test_impossible_parts(text: str) -> None:
    with pytest.raises(ConfigError, match="--part"):
        Part.parse(text)


def test_a_truncated_file_belongs_to_the_series_of_its_folder(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True, True))
    file = source / "IM0002.dcm"
    file.write_bytes(file.read_bytes()[:140])
    (task,) = found(source)
    assert str(file) in task.files


def test_a_file_that_cannot_be_read_has_its_own_row(tmp_path: Path) -> None:
    source = tree(tmp_path / "in")
    (source / "broken").write_bytes(b"\0" * 128 + b"DICM" + b"\1" * 20)
    assert len(found(source)) == 5
    (source / "link").symlink_to(series(tmp_path / "elsewhere", (True,)) / "IM0001.dcm")
    assert len(found(source)) == 5


def test_a_list_names_folders_files_and_what_is_not_there(tmp_path: Path) -> None:
    series(tmp_path / "a", (True,), SeriesInstanceUID="1.2")
    series(tmp_path / "b", (True,), SeriesInstanceUID="1.3")
    (tmp_path / "empty").mkdir()
    names = ["# a comment", "a", "", "b/IM0001.dcm", str(tmp_path / "a"), "missing", "empty"]
    (tmp_path / "list.txt").write_text("\n".join(names))
    tasks = found(tmp_path / "list.txt")
    assert len(tasks) == 4
    assert {Path(task.source).name for task in tasks if not task.files} == {"missing", "empty"}


def test_volumes_are_series(tmp_path: Path) -> None:
    (tmp_path / "v.nii.gz").touch()
    (task,) = found(tmp_path)
    assert (task.source, task.files) == (str(tmp_path / "v.nii.gz"), ())


def test_nothing_to_do_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match="no CT series"):
        found(tmp_path)
    (tmp_path / "list").write_bytes(b"\xff\xfe")
    with pytest.raises(InputRefused, match="not a list"):
        found(tmp_path / "list")


def test_scouts_are_no_series(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True,))
    dataset = pydicom.dcmread(source / "IM0001.dcm")
    dataset.ImageType = ["ORIGINAL", "PRIMARY", "LOCALIZER"]
    dataset.save_as(source / "IM0001.dcm")
    with pytest.raises(InputRefused, match="no CT series"):
        found(source)
