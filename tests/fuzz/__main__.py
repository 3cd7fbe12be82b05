"""Run commands on damaged files: `python -m tests.fuzz [KINDS] --count N --seed S --keep DIR`.

Every input must end in a correct result or in one line with the right exit code: no traceback, nothing over 1 GB or
30 seconds, nothing left behind. Exits with 1 if one does not.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.fuzz.kinds import KINDS, VIEWER, warm_up
from tests.fuzz.run import CODES, FAILED, Tally, fuzz

COLUMNS = ("kind", "inputs", *dict.fromkeys(CODES.values()), FAILED, "seconds", "slowest")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = f"{', '.join(KINDS)}, by default all; {', '.join(VIEWER)}"
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=kinds)
    parser.add_argument("--count", type=int, default=100, help="inputs of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for the inputs that fail")
    given = parser.parse_args()
    if unknown := set(given.kinds) - KINDS.keys() - VIEWER.keys():
        parser.error(f"no kind {', '.join(sorted(unknown))}")
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    failed = 0
    with tempfile.TemporaryDirectory(prefix="acdnet-fuzz-", dir=memory) as folder:
        os.chdir(folder)
        for name in [name for name in given.kinds if name in VIEWER]:
            failed += not in_viewer(name, given.count, given.seed, Path(folder))
        chosen = [name for name in given.kinds or KINDS if name in KINDS]
        if chosen:
            warm_up(Path(folder))
            print(*(f"{name:>16}" if not n else f"{name:>9}" for n, name in enumerate(COLUMNS)))
        for name in chosen:
            tally = fuzz(name, KINDS[name], Path(folder), given.count, given.seed, given.keep)
            print(row(name, tally), flush=True)
            for number, end in tally.failures[:20]:
                print(f"  {name} {given.seed} {number}: {end[-600:]}", flush=True)
            failed += len(tally.failures)
    sys.exit(failed > 0)


def in_viewer(name: str, count: int, seed: int, folder: Path) -> bool:
    """Run a kind of input for the viewer and print how it ended; return whether all is well."""
    try:
        ends = VIEWER[name](count, seed, folder / name)
    except AssertionError as error:
        print(f"{name:>16} {error}", flush=True)
        return False
    print(f"{name:>16} {ends.total():>9} inputs:", *(f"{n} {end}," for end, n in ends.most_common()), flush=True)
    return True


def row(name: str, tally: Tally) -> str:
    """Return a line of the table."""
    counts = [tally.ends[end] for end in (*dict.fromkeys(CODES.values()), FAILED)]
    cells = [sum(counts), *counts, f"{tally.seconds:.0f}", f"{tally.slowest:.1f}"]
    return " ".join([f"{name:>16}", *(f"{cell:>9}" for cell in cells)])


if __name__ == "__main__":
    main()
