"""Find the series below a folder or in a list; a file that cannot be read never hides the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from acdnet.errors import ConfigError, InputRefused
from acdnet.files import leads_inside, read_limited, sha256
from acdnet.io.dicom.bounds import readable
from acdnet.io.dicom.series import series_key
from acdnet.io.dicom.tags import read_header, why_no_slice

KEY_LENGTH = 16
"""Hexadecimal digits of a hash that name a series."""
MAX_LIST_BYTES = 64 * 2**20
VOLUMES = (".nii", ".nii.gz")
REPORTED = 100
"""Files between two reports of progress."""


@dataclass(frozen=True)
class Task:
    """A series to reduce."""

    key: str
    """Hash of what identifies the series."""
    source: str
    """The folder or file that was searched."""
    files: tuple[str, ...] = ()
    """The files of a DICOM series; empty for everything in `source`."""


@dataclass(frozen=True)
class Part:
    """Part I of N of all series, for job arrays."""

    number: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Part:
        """Read `I/N`."""
        number, _, count = text.partition("/")
        if not (number.isdecimal() and count.isdecimal() and len(text) < 20 and 1 <= int(number) <= int(count)):
            raise ConfigError(f"--part is {text!r:.40}; give I/N, such as 1/10, with I from 1 to N")
        return cls(int(number), int(count))


def find_tasks(source: Path, part: Part, progress: Callable[[int], None]) -> list[Task]:
    """Return the series of a folder or of a list of paths, in the order of their hashes."""
    roots = [source] if source.is_dir() else _listed(source)
    found: dict[str, Task] = {}
    for root in roots:
        tasks = list(_tasks_of(root, progress))
        if not tasks and root is not source:
            tasks = [_whole(root)]  # its row will say why there is none
        for task in tasks:
            found.setdefault(task.key, task)
    if not found:
        raise InputRefused(f"{source}: contains no CT series")
    return [found[key] for key in sorted(found)][part.number - 1 :: part.count]


def _listed(path: Path) -> list[Path]:
    """Return the paths in a text file, one a line, relative to its folder."""
    try:
        lines = read_limited(path, MAX_LIST_BYTES).decode().splitlines()
    except UnicodeDecodeError as error:
        raise InputRefused(f"{path}: is not a folder, and not a list of paths in UTF-8") from error
    names = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if any("\0" in name for name in names):
        raise InputRefused(f"{path}: is not a folder, and not a list of paths, one a line")
    return [path.parent / name for name in names]


def _whole(path: Path) -> Task:
    return Task(sha256(os.fsencode(path.absolute()))[:KEY_LENGTH], str(path.absolute()))


def _tasks_of(root: Path, progress: Callable[[int], None]) -> Iterator[Task]:
    """Yield the volumes and the DICOM series of a folder or file."""
    series: dict[str, list[str]] = {}
    folders: dict[str, set[str]] = {}
    broken: dict[str, list[str]] = {}
    for number, file in enumerate(_files(root), 1):
        if number % REPORTED == 0:
            progress(number)
        if file.name.lower().endswith(VOLUMES):
            yield _whole(file)
            continue
        try:
            key = _key_of(file, root)
        except InputRefused:
            broken.setdefault(str(file.parent), []).append(str(file))
            continue
        if key:
            series.setdefault(key, []).append(str(file))
            folders.setdefault(str(file.parent), set()).add(key)
    for folder, files in broken.items():
        if len(keys := folders.get(folder, set())) == 1:
            series[next(iter(keys))] += files  # probably slices of this series: its row will name the fault
        else:
            yield Task(sha256(os.fsencode(files[0]))[:KEY_LENGTH], str(root.absolute()), tuple(files))
    for key, files in series.items():
        yield Task(key[:KEY_LENGTH], str(root.absolute()), tuple(files))


def _files(root: Path) -> Iterator[Path]:
    """Yield the files of a folder with absolute paths, in order."""
    if not root.is_dir():
        yield from [root.absolute()] if root.is_file() else []
        return
    for folder, folders, names in os.walk(root.absolute()):
        folders.sort()
        yield from (path for name in sorted(names) if (path := Path(folder, name)).is_file())


def _key_of(file: Path, root: Path) -> str:
    """Return the hash of the series of a file; empty if it is not a CT slice."""
    if root.is_dir() and not leads_inside(file, root):
        raise InputRefused(f"{file}: is a link to outside the folder; copy the file instead")
    header = read_header(file, must_be_dicom=False)
    if header is None or why_no_slice(header):
        return ""
    with readable(file):
        return series_key(header)
