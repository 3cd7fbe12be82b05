"""The faults that are tested, by number; every test named after one (test_f01_...) counts for its row.

`pytest --limits docs/limits.md` runs the tests and writes the table with what held.
"""

from __future__ import annotations

import re
from pathlib import Path

FAULTS = {
    1: ("empty file, text or JPEG in the folder", "skipped and counted, exit 4; exit 3 if nothing is left"),
    2: ("header cut short", "refused, the missing tag named"),
    3: ("fewer pixels than Rows x Columns", "refused"),
    4: ("65535 x 65535 in a small file, plain or RLE", "refused before decoding"),
    5: ("deflated bomb", "refused from the file meta"),
    6: ("sequences nested without end", "refused in one line"),
    7: ("no RescaleSlope or RescaleIntercept", "refused"),
    8: ("RescaleSlope 0, negative, NaN, 1e30", "refused"),
    9: ("signed data labelled unsigned", "refused: implausible HU range"),
    10: ("rubbish above BitsStored", "cut off; same result as the clean file"),
    11: ("BitsStored 13 to 15", "read and written as they are"),
    12: ("MONOCHROME1", "same HU, tag kept"),
    13: ("padding round the field of view, also as a range", "kept bit for bit; no new pixel looks like it"),
    14: ("metal cut off at 3071 HU", "same mask as of the 16-bit twin; flagged; metal unchanged"),
    15: ("slope 10, extended scale", "right HU, rounding below half a step"),
    16: ("colour", "refused"),
    17: ("MR, PET or RT among the files", "skipped and counted"),
    18: ("enhanced multi-frame CT", "refused with advice"),
    19: ("scouts", "skipped and counted"),
    20: ("two series, patients or frames of reference", "refused unless --series N; choices without names"),
    21: ("one UID twice", "the same pixels: used once; other pixels: refused"),
    22: ("missing slices, any order of files", "slices unchanged by it; ordered by position; a note"),
    23: ("tilted gantry, tag against geometry", "reduced; geometry kept; notes"),
    24: ("other planes; no or impossible orientation", "refused, --accept-non-axial for the first"),
    25: ("mirrored pictures", "stay mirrored"),
    26: ("pixels that are not square; no pixel size", "resampled for the projector alone; refused"),
    27: ("any matrix, odd sizes too", "same size out"),
    28: ("32 x 32 pixels, 5 cm field", "refused as out of scope"),
    29: ("slice without metal", "bit for bit as it came"),
    30: ("more than 30 % metal, metal at the edge of the field", "passed through, exit 4"),
    31: ("air or one value everywhere", "unchanged"),
    32: ("NaN or infinity", "refused; inside metal replaced by LI"),
    33: ("a result that is not finite", "slice passed through, exit 4"),
    34: ("codec missing, broken stream", "refused, the package named"),
    35: ("compressed with loss", "refused; --accept-lossy keeps the marks"),
    36: ("paths, NUL and long texts in tags", "files are named by running numbers"),
    37: ("links that lead out", "refused"),
    38: ("output in the input, not empty, a file", "refused, inputs untouched"),
    39: ("other scripts, bytes of no character set", "kept byte for byte"),
    40: ("what a derived series must carry", "all of it; dciodvfy and dcentvfy find nothing new"),
    41: ("run twice", "same UIDs, same pixels"),
    42: ("weights: hostile, cut, changed, NaN, of another shape", "refused; nothing is executed"),
    43: ("a .pt file given to reduce", "refused, import-weights named"),
    44: ("kill -9 at any moment", "nothing half under a final name; goes on; same result"),
    45: ("full or read-only disk", "exit 5, older results intact"),
    46: ("newest checkpoint damaged", "the one before it is taken, and said"),
    47: ("no memory", "exit 5 with advice"),
    48: ("two processes, one output", "the second ends with 5"),
    49: ("Ctrl-C", "exit 130; finished slices kept aside"),
    50: ("threads, workers", "below 0.5 HU; workers change no byte"),
    51: ("settings unknown or impossible", "exit 2, named"),
    52: ("data set changed, patients in two splits", "refused before the first step"),
    53: ("loss becomes NaN", "stops, last good state kept"),
    54: (
        "viewer without original, of another size, from outside",
        "refused; token needed; notice always there",
    ),
    55: ("names in logs and reports", "none"),
    56: ("random damage to a file", "refused or read; no other end"),
    57: ("a small lesion beside metal", "the contrast that is kept is measured"),
}
NAME = re.compile(r"test_f(\d\d)_", re.IGNORECASE)
START, END = "<!-- faults -->", "<!-- /faults -->"


def fault_of(test: str) -> int | None:
    """Return the row that a test counts for."""
    found = NAME.search(test)
    return int(found[1]) if found else None


def rows(outcomes: dict[int, list[str]]) -> str:
    """Return the table: what held, what did not, and by how many tests."""
    lines = ["| | fault | what happens | tests |", "| --- | --- | --- | --- |"]
    for number, (fault, behaviour) in FAULTS.items():
        seen = outcomes.get(number, [])
        passed = seen.count("passed")
        held = f"{passed} hold" if seen and passed == len(seen) else f"{passed} of {len(seen)} hold" if seen else "none"
        lines.append(f"| F{number:02d} | {fault} | {behaviour} | {held} |")
    return "\n".join(lines)


def write(path: Path, outcomes: dict[int, list[str]]) -> None:
    """Put the table into a page, between its marks."""
    text = path.read_text()
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{START}\n\n{rows(outcomes)}\n\n{END}{after}")
