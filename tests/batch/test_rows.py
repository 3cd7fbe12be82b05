from pathlib import Path

import pytest

from acdnet.batch.find import Task
from acdnet.batch.rows import Row, read_rows, row_path, why, write_row, write_table
from acdnet.errors import InputRefused, NeedsChoice

TASK = Task("abc", "/data/Meier^Anna", ("/data/Meier^Anna/1", "/data/Meier^Anna/Anna.dcm"))


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (InputRefused("/data/Meier^Anna/1: PixelSpacing is missing"), "a file: PixelSpacing is missing"),
        (
            InputRefused("/data/Meier^Anna/1: RescaleType is Meier; only HU"),
            "a file: RescaleType is not valid; only HU",
        ),
        (InputRefused("/data/Meier^Anna: no CT slice found (1 scouts)"), "the series: no CT slice found (1 scouts)"),
        (InputRefused("/data/Meier^Anna/1: as Anna.dcm but x"), "a file: as another file but x"),
        (NeedsChoice("/data/Meier^Anna/1: is lossy", "lossy", "; use --it"), "a file: is lossy"),
    ],
)
def test_reasons_name_no_patient(error: InputRefused, text: str) -> None:
    assert why(error, TASK) == text


def test_the_table_holds_all_rows(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    for row in (Row("b", "refused", reason="a, b"), Row("a", "reduced", 3, 2, 8.5, 1.25)):
        write_row(tmp_path, row)
    write_table(tmp_path)
    assert (tmp_path / "series.csv").read_text().splitlines() == [
        "series,status,slices,metal_slices,expected_error_hu,seconds,reason",
        "a,reduced,3,2,8.5,1.25,",
        'b,refused,,,,,"a, b"',
    ]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_foreign_row_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    row_path(tmp_path, "a").write_text('{"x": 1}')
    with pytest.raises(InputRefused, match="not a row"):
        read_rows(tmp_path)
