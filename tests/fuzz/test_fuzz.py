"""A short run of the fuzzer; `make fuzz` is the long one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.fuzz.kinds import KINDS
from tests.fuzz.run import CODES, FAILED, fuzz, judge


def test_f56_damaged_files_of_every_kind(tmp_path: Path) -> None:
    """In a process of its own, since it starts others."""
    command = [sys.executable, "-m", "tests.fuzz", "--count", "6", "--keep", str(tmp_path)]
    paths = {"PYTHONPATH": os.pathsep.join((str(REPOSITORY), os.environ.get("PYTHONPATH", "")))}
    done = subprocess.run(command, cwd=REPOSITORY, env=os.environ | paths, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    assert [row[0] for row in rows] == list(KINDS)
    assert {row[1] for row in rows} == {"6"}
    assert sum(int(row[2]) for row in rows) > 5  # damage that does no harm


@pytest.mark.parametrize(
    ("script", "word"),
    [
        ("raise ValueError", "Traceback"),
        ("import sys; print('acdnet: one\\nacdnet: two', file=sys.stderr); sys.exit(3)", "not one line"),
        ("import sys; print('acdnet: \\x1b[2J', file=sys.stderr); sys.exit(3)", "not one line"),
        ("import sys; print('acdnet: no', file=sys.stderr); sys.exit(7)", "exit 7"),
        ("import sys; open('left', 'w'); print('acdnet: no', file=sys.stderr); sys.exit(3)", "left"),
        ("import os; os.write(2, b'a warning')", "a warning"),
        ("import os; os.kill(os.getpid(), 9)", "the process ended"),
        ("x = bytes(3 * 2**30)", "MemoryError"),
        ("import sys; print('acdnet: no', file=sys.stderr); sys.exit(3)", ""),
    ],
)
def test_what_counts_as_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, word: str) -> None:
    monkeypatch.setattr("acdnet.cli.app.main", lambda: exec(script))

    def make(_: object, folder: Path) -> list[str]:
        os.chdir(folder)
        return ["info"]

    tally = fuzz("kind", make, tmp_path, 2, 0, tmp_path / "keep")
    assert tally.ends == ({FAILED: 2} if word else {"exit 3": 2})
    assert all(word in end for _, end in tally.failures)
    assert (tmp_path / "keep/kind-0-1/failure.txt").exists() == bool(word)


def test_the_same_seed_makes_the_same_files(tmp_path: Path) -> None:
    import random

    for name, make in KINDS.items():
        places = [tmp_path / name / part / "case" for part in "ab"]
        for place in places:
            place.mkdir(parents=True)
        one, two = ([word.replace(str(place), "") for word in make(random.Random("7"), place)] for place in places)
        assert one == two
        files = [{path.name: path.read_bytes() for path in place.rglob("*") if path.is_file()} for place in places]
        assert files[0] == files[1]


def test_judge_of_a_good_case(tmp_path: Path) -> None:
    place = tmp_path / "case"
    place.mkdir()
    assert judge(["models"], place, tmp_path) == CODES[0]
