"""Text for people: printable, one line, short where it quotes."""

import errno
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest

from acdnet.errors import InputRefused, NeedsChoice
from acdnet.messages import MAX_MESSAGE, MAX_QUOTED, Outlet, printable, quoted
from tests.reduction.make import series

HOSTILE = "a\x1b[2J\x07b\r\nc\u202ed\udcffe\x9b1m\x00"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain, 1 µm, 日本", "plain, 1 µm, 日本", id="text that is printable stays"),
        pytest.param(
            HOSTILE, "a\\x1b[2J\\x07b c\\u202ed\\udcffe\\x9b1m\\x00", id="F70 escapes, bells, directions, half pairs"
        ),
        pytest.param(" one\n\t two\u2028three ", "one two three", id="F70 lines"),
        pytest.param("x" * 10**7, "x" * (MAX_MESSAGE - 3) + "...", id="F70 megabytes"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


class Unspeakable:
    def __str__(self) -> str:
        raise ValueError


def test_f70_quoted_values() -> None:
    assert quoted("B30f") == "B30f"
    assert len(quoted("\x1b" * 10**6)) == MAX_QUOTED
    assert quoted([1.5, "x"]) == "[1.5, 'x']"
    assert quoted(Unspeakable()) == "a Unspeakable that cannot be shown"
    assert quoted(10**5000) == "a int that cannot be shown"


def test_f70_errors_are_printable() -> None:
    assert str(InputRefused(f"{HOSTILE}\n")) == printable(HOSTILE)
    choice = NeedsChoice("which\x1b?", NeedsChoice.SERIES, "\n1 or 2")
    assert (str(choice), choice.problem) == ("which\\x1b? 1 or 2", "which\\x1b?")


def test_f74_an_outlet_writes_what_its_encoding_holds() -> None:
    kept = io.BytesIO()
    outlet = Outlet(io.TextIOWrapper(kept, "ascii"))
    print("1 µm, 日本", file=outlet, flush=True)
    assert kept.getvalue() == b"1 \\xb5m, \\u65e5\\u672c\n"
    assert outlet.problem is None


def test_f74_an_outlet_goes_on_when_it_is_full() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 a device
        outlet = Outlet(full)
        print("x" * 10**6, file=outlet)
        print("again", file=outlet)
        outlet.flush()
    assert outlet.problem is not None
    assert outlet.problem.errno == errno.ENOSPC
    assert not outlet.reader_left


def command(
    *arguments: object, stdout: Any = subprocess.PIPE, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "acdnet", *map(str, arguments)]
    return subprocess.run(words, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, env=env)


def test_f74_a_command_whose_output_is_full_or_closed() -> None:
    with Path("/dev/full").open("w") as full:
        done = command("models", stdout=full)
    assert (done.returncode, done.stderr) == (5, "acdnet: standard output: cannot write (No space left on device)\n")
    reading, writing = os.pipe()
    os.close(reading)
    done = command("models", stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_f74_a_result_is_kept_when_standard_output_is_full(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True,))
    with Path("/dev/full").open("w") as full:
        done = command("reduce", source, tmp_path / "out", "--method", "li", stdout=full)
    assert done.returncode == 5
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "out/report.json").exists()
    assert not (tmp_path / ".out.partial").exists()


def test_f71_a_refusal_is_one_line(tmp_path: Path) -> None:
    """A header of NIfTI of which the library would complain in several lines."""
    header = bytearray(nibabel.Nifti1Image(np.zeros((64, 64, 2), np.int16), np.eye(4)).to_bytes())
    header[70:74] = b"\xff\x7f\xff\x7f"  # datatype, bitpix
    (tmp_path / "a.nii").write_bytes(header)
    done = command("reduce", tmp_path / "a.nii", tmp_path / "out")
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)


def test_f74_a_message_on_a_terminal_of_ascii(tmp_path: Path) -> None:
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = command("reduce", tmp_path / "µ\x1b日", tmp_path / "out", env=plain)
    assert done.returncode == 3
    assert done.stderr.endswith("\\xb5\\x1b\\u65e5: no such file or folder\n")
    assert done.stderr.count("\n") == 1
