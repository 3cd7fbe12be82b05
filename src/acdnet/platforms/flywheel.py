"""A gear of Flywheel: config.json and inputs below one folder, results as files without subfolders."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from typing import Any

from acdnet import __version__
from acdnet.errors import InputRefused, ResourceError
from acdnet.io.scan import DIFFERENCE, NOTICE, REDUCED
from acdnet.parse import read_json
from acdnet.platforms.job import CHANGED, WORK, reduce_all, summary
from acdnet.platforms.settings import PlatformSettings

ROOT = Path("/flywheel/v0")
INPUT, OUTPUT, CONFIG = "input", "output", "config.json"
MAX_CONFIG_BYTES, MAX_MEMBERS, MAX_UNPACKED_BYTES = 2**24, 20_000, 16 * 2**30
CHUNK = 2**20


def run_flywheel(root: Path = ROOT) -> str:
    """Reduce the DICOM of a gear's input, and write one archive a series."""
    config = read_json(root / CONFIG, MAX_CONFIG_BYTES) if (root / CONFIG).exists() else {}
    settings = PlatformSettings.read(config.get("config") or {} if isinstance(config, dict) else None, CONFIG)
    out = root / OUTPUT
    unpacked = out / ".acdnet-input"
    try:
        source = _unpacked(root / INPUT, unpacked)
        rows = reduce_all(source, out, settings)
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)
    for row in rows:
        if row.status not in CHANGED:
            continue
        folder = out / WORK / row.series
        for kind in (REDUCED, DIFFERENCE) if settings.difference else (REDUCED,):
            archive = shutil.make_archive(str(folder / kind), "zip", folder / kind)
            Path(archive).rename(out / f"{row.series}-{kind}.dicom.zip")
        (folder / "report.html").rename(out / f"{row.series}-report.html")
    shutil.rmtree(out / WORK)
    return summary(rows)


def manifest() -> dict[str, Any]:
    """Return manifest.json of the gear."""
    config = {
        "method": {"type": "string", "default": "acdnet", "description": "A method, or a shipped model"},
        "metal_threshold": {"type": "number", "default": 0, "description": "HU that starts metal; 0: the localiser"},
        "difference": {"type": "boolean", "default": False, "description": "Write the difference series, too"},
    }
    return {
        "name": "acdnet",
        "label": "Metal artifact reduction (research only)",
        "description": f"Reduces metal artifacts in CT images by ACDNet. {NOTICE}",
        "version": __version__,
        "author": "The acdnet developers",
        "license": "Apache-2.0",
        "source": "",
        "url": "",
        "command": "acdnet platform flywheel",
        "inputs": {"dicom": {"base": "file", "type": {"enum": ["dicom"]}, "description": "A CT series"}},
        "config": config,
        "custom": {"gear-builder": {"category": "analysis", "image": f"acdnet:{__version__}"}},
    }


def _unpacked(source: Path, target: Path) -> Path:
    """Return the input as a folder of files: archives are unpacked under names of our own."""
    archives = sorted(path for path in source.rglob("*.zip") if path.is_file())
    if not archives:
        return source
    try:
        target.mkdir(parents=True)
        left, number = MAX_UNPACKED_BYTES, 0
        for archive in archives:
            with zipfile.ZipFile(archive) as file:
                for member in file.infolist():
                    number += 1
                    if number > MAX_MEMBERS:
                        raise InputRefused(f"{archive}: contains more than {MAX_MEMBERS:,} files")
                    if not member.is_dir():
                        left -= _copy(file, member, target / f"{number:05d}", left)
                    if left < 0:
                        raise InputRefused(f"{archive}: unpacks to more than {MAX_UNPACKED_BYTES:,} bytes")
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise InputRefused(f"{archive}: cannot be unpacked ({type(error).__name__})") from error
    except OSError as error:
        raise ResourceError(f"{target}: cannot write ({error.strerror})") from error
    return target


def _copy(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, limit: int) -> int:
    """Unpack a file up to a limit; return its size."""
    size = 0
    with archive.open(member) as file, target.open("wb") as to:
        while size <= limit and (chunk := file.read(CHUNK)):
            size += to.write(chunk)
    return size
