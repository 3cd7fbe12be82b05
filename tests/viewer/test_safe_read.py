import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acdnet.errors import InputRefused
from acdnet.viewer.safe_read import load_arrays, read_json


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


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f"[1{'0' * 400}]", "more than 15 digits"),
        (f"[-1{'0' * 5000}]", "digits"),
        (f"[1.{'0' * 400}e400]", "not a finite number"),
        ("[" * 21 + "]" * 21, "nested more than 20 deep"),
        ('{"a":' * 900 + "1" + "}" * 900, "nested more than 20 deep"),
        ("[" * 10**5 + "]" * 10**5, "recursion"),
        (r'{"a": ["\ud800"]}', "surrogates not allowed"),
        (r'{"\udfff": 1}', "surrogates not allowed"),
    ],
)
def test_f75_json_that_cannot_be_passed_on(text: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(InputRefused, match=what) as refused:
        read_json(path, 2**20)
    assert len(str(refused.value)) < 200 + len(str(path))


def test_json_that_can_be_passed_on(tmp_path: Path) -> None:
    values: Any = {"a": [1, -(10**15) + 1, 0.1, None, True, "\u00e4\U0001f600", [[[{"b": []}]]]]}
    (tmp_path / "report.json").write_text(json.dumps(values))
    assert read_json(tmp_path / "report.json", 2**20) == values
