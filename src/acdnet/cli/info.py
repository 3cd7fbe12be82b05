"""`acdnet info`: describe a file or folder, without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from acdnet.config import ACDNetConfig
from acdnet.errors import InputRefused
from acdnet.messages import printable
from acdnet.weights.shipped import find_model


def info(
    path: Annotated[Path, typer.Argument(help="DICOM, NIfTI, .npy, PNG, model, data set or result.")],
) -> None:
    """Describe a scan, a model, a data set or a result.

    Prints no names or IDs of patients.
    """
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True, markup=False)
    for line in describe(path):
        console.print(printable(line))


def describe(path: Path) -> list[str]:
    """Return the lines of the description."""
    if not path.exists():
        return _model(find_model(str(path)))  # a shipped name, or an error that lists them
    name = path.name.lower()
    if (path / "model.safetensors").is_file():
        return _model(path / "model.safetensors")
    if name == "report.json":
        return _result(path.parent)
    if name.endswith(".png") and path.is_file():
        return _picture(path)
    if name.endswith((".safetensors", ".json")) and path.is_file():
        return _model(path.with_suffix(".safetensors"))
    if name.endswith((".nii", ".nii.gz")) and path.is_file():
        return _nifti(path)
    if name.endswith(".npy") and path.is_file():
        return _array(path)
    if (path / "report.json").is_file():
        return _result(path)
    if (path / "manifest.json").is_file():
        return _store(path)
    return _dicom(path)


def _dicom(path: Path) -> list[str]:
    from acdnet.io.dicom.series import find_series

    found = find_series(path)
    lines = [f"{len(found.series)} CT series"]
    for n, series in enumerate(found.series, 1):
        heights = [part.height for part in series.slices]
        lines.append(f"  {n}: {series.title}, {max(heights) - min(heights):.0f} mm long")
        lines += [f"     note: {text}" for text in series.warnings]
    lines += [f"  cannot be read: {problem}" for _, problem in found.problems]
    lines += [f"  not read: {count} {reason}" for reason, count in found.skipped.items()]
    if len(found.series) > 1:
        lines.append(f"reduce one with: acdnet reduce {path} OUTPUT --series N")
    return lines


def _nifti(path: Path) -> list[str]:
    from acdnet.io.nifti import open_nifti, spacings

    volume, axes = open_nifti(path)
    step, rows, columns = spacings(volume, axes)
    sides = [volume.shape[axes[n][0]] for n in (2, 1, 0)]
    size = f"{sides[0]} axial slices of {sides[1]} x {sides[2]}"
    return [f"NIfTI volume: {size}, {rows:.3g} x {columns:.3g} mm, {step:.3g} mm apart, {volume.get_data_dtype()}"]


def _array(path: Path) -> list[str]:
    from acdnet.io.arrays import ArrayScan

    scan = ArrayScan.open(path, (1.0, 1.0))
    return [f"array: {scan.about['array']}; HU; the pixel size must be given with --pixel-mm"]


def _picture(path: Path) -> list[str]:
    from acdnet.io.arrays import read_png

    rows, columns = read_png(path)[0].shape
    return [f"PNG picture: {rows} x {columns}, HU + 32768; the pixel size must be given with --pixel-mm"]


def _model(path: Path) -> list[str]:
    from acdnet.weights.card import read_card

    card = read_card(path)
    lines = [f"model {card.name}: {card.summary}", f"  {card.architecture}, {card.parameters:,} parameters"]
    if isinstance(card.config, ACDNetConfig):
        last = ", ends with a trace correction" if card.config.last == "trace_correction" else ""
        lines.append(f"  starts from the image of {card.config.first}{last}")
    if card.training:
        t = card.training
        lines.append(f"  trained on {t.data}; protocol {t.protocol}; {t.patches_seen:,} examples, {t.hours:g} hours")
    shown = [name for name in card.scores if ", metal " not in name or ", metal all sizes" in name]
    lines += [f"  {name}: {card.scores[name]:g}" for name in shown]  # others are by metal size
    return [*lines, f"  {card.notice}"]


def _result(path: Path) -> list[str]:
    from acdnet.parse import read_json

    report = read_json(path / "report.json", 256 * 2**20)
    try:
        if "counts" in report:
            counts = ", ".join(f"{count} {name}" for name, count in report["counts"].items())
            return [f"result of acdnet reduce by {report['method']}: {counts}", f"  {report['notice']}"]
        return [f"result of acdnet evaluate on {report['pairs']} pairs ({report['protocol']})"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputRefused(f"{path / 'report.json'}: is not a report of acdnet") from error


def _store(path: Path) -> list[str]:
    from acdnet.data.store import Store

    store = Store(path)
    splits: dict[str, int] = {}
    for entry in store.slices:
        splits[entry["split"]] = splits.get(entry["split"], 0) + len(entry["pairs"])
    counts = ", ".join(f"{split} {count}" for split, count in sorted(splits.items()))
    kept = [name for name in ("sinograms", "tracefit") if store.manifest.get(name)]
    with_ = f", with {' and '.join(kept)}" if kept else ""
    return [f"data set of acdnet simulate, protocol {store.manifest['protocol']}: pairs {counts}{with_}"]
