"""A processing module of Mercure: folders in the environment, settings in task.json, result.json for the operator."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from acdnet.errors import ConfigError
from acdnet.files import write_atomically
from acdnet.io.scan import DIFFERENCE, REDUCED
from acdnet.parse import read_json
from acdnet.platforms.job import CHANGED, WORK, reduce_all, summary
from acdnet.platforms.settings import PlatformSettings

TASK, RESULT = "task.json", "result.json"
MAX_TASK_BYTES = 2**24


def run_mercure(environment: Mapping[str, str] = os.environ) -> str:
    """Reduce the series that Mercure mounted; everything named *.dcm in the output is sent on."""
    source, out = (_folder(environment, name) for name in ("MERCURE_IN_DIR", "MERCURE_OUT_DIR"))
    settings = _settings(source / TASK)
    rows = reduce_all(source, out, settings)
    text = summary(rows)
    for row in rows:
        if row.status not in CHANGED:
            continue  # without metal there is nothing new to send
        for kind in (REDUCED, DIFFERENCE) if settings.difference else (REDUCED,):
            for file in sorted((out / WORK / row.series / kind).iterdir()):
                file.rename(out / f"{row.series}-{kind}-{file.name}")
        for name in ("report.html", "report.json"):
            (out / WORK / row.series / name).rename(out / f"{row.series}-{name}")
    shutil.rmtree(out / WORK)
    result = {"__mercure_notification": {"text": text}, "series": [asdict(row) for row in rows]}
    write_atomically({out / RESULT: json.dumps(result, indent=1).encode()})
    return text


def _folder(environment: Mapping[str, str], name: str) -> Path:
    folder = Path(environment.get(name, ""))
    if not environment.get(name) or not folder.is_dir():
        raise ConfigError(f"{name} is not a folder; Mercure sets it when it starts the container")
    return folder


def _settings(path: Path) -> PlatformSettings:
    """Return the settings of the task; there are none without task.json."""
    task = read_json(path, MAX_TASK_BYTES) if path.exists() else {}
    process = task.get("process") if isinstance(task, dict) else None
    if isinstance(process, list):  # of several modules
        process = process[0] if process else None
    values = process.get("settings") if isinstance(process, dict) else None
    return PlatformSettings.read(values or {}, TASK)
