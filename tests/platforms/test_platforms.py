"""The entry point of the container, with the folders and variables of the platforms."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pydicom
import pytest

import acdnet
from acdnet.errors import ConfigError
from acdnet.platforms.flywheel import manifest
from acdnet.platforms.settings import PlatformSettings
from tests.reduction.make import pixels, reduce, run, series


@pytest.fixture
def mercure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with `in` (a series, a task, a mark) and an empty `out`, as Mercure mounts them."""
    source = series(tmp_path / "in", (False, True))
    (source / "task.json").write_text(json.dumps({"id": "1", "process": {"settings": {"method": "li"}}}))
    (source / ".tags").write_text("x")
    (tmp_path / "out").mkdir()
    monkeypatch.setenv("MERCURE_IN_DIR", str(source))
    monkeypatch.setenv("MERCURE_OUT_DIR", str(tmp_path / "out"))
    return tmp_path


def task(mercure: Path, **settings: object) -> None:
    (mercure / "in" / "task.json").write_text(json.dumps({"process": [{"settings": settings}]}))


def test_mercure(mercure: Path) -> None:
    done = run("platform", "mercure")
    assert done.code == 0, done.text
    names = sorted(path.name for path in (mercure / "out").iterdir())
    assert len({name[:16] for name in names if name != "result.json"}) == 1
    endings = ["-reduced-0001.dcm", "-reduced-0002.dcm", "-report.html", "-report.json"]
    assert [name[16:] for name in names if name != "result.json"] == endings
    result = json.loads((mercure / "out" / "result.json").read_text())
    assert result["__mercure_notification"]["text"].startswith("acdnet, series: 1 reduced.")
    assert "Secret" not in json.dumps(result)
    assert reduce(mercure / "in", mercure / "alone", "--ignore-others").code == 0
    assert np.array_equal(pixels(mercure / "out"), pixels(mercure / "alone/reduced"))


def test_mercure_with_the_difference_series_and_a_bad_series(mercure: Path) -> None:
    task(mercure, method="li", difference=True, metal_threshold="2400")
    bad = series(mercure / "bad", (True,), SeriesInstanceUID="1.9", RescaleType="OD")
    (bad / "IM0001.dcm").rename(mercure / "in" / "bad.dcm")
    assert run("platform", "mercure").code == 0
    assert len(list((mercure / "out").glob("*-difference-*.dcm"))) == 2
    text = json.loads((mercure / "out" / "result.json").read_text())["__mercure_notification"]["text"]
    assert "1 reduced, 1 refused" in text
    assert "RescaleType" in text


def test_mercure_sends_nothing_without_metal(mercure: Path) -> None:
    (mercure / "in" / "IM0002.dcm").unlink()
    assert run("platform", "mercure").code == 0
    assert [path.name for path in (mercure / "out").iterdir()] == ["result.json"]


@pytest.mark.parametrize(
    ("settings", "code", "text"),
    [
        ({"methd": "li"}, 2, "unknown setting 'methd'"),
        ({"method": "magic"}, 2, "no method"),
        ({"metal_threshold": "high"}, 2, "must be of type float"),
        ({"metal_threshold": 5}, 2, "between 500"),
        ({"workers": 1e9}, 2, "between 0 and 64"),
        ({"difference": 1}, 2, "must be of type bool"),
    ],
)
def test_settings_of_a_task_are_checked(mercure: Path, settings: dict[str, object], code: int, text: str) -> None:
    task(mercure, **settings)
    done = run("platform", "mercure")
    assert done.code == code
    assert text in done.text
    assert not list((mercure / "out").iterdir())


def test_mercure_without_a_ct_series_or_its_folders(mercure: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in (mercure / "in").glob("*.dcm"):
        file.unlink()
    assert run("platform", "mercure").code == 3
    assert not list((mercure / "out").iterdir())
    monkeypatch.delenv("MERCURE_OUT_DIR")
    assert run("platform", "mercure").code == 2


def test_settings_of_forms() -> None:
    read = PlatformSettings.read({"workers": "2", "difference": "TRUE", "metal_threshold": 3000}, "here")
    assert (read.workers, read.difference, read.metal_threshold) == (2, True, 3000.0)
    bad: object
    for bad in ([], {"metal_threshold": float("nan")}, {"method": 3}, {"workers": True}):
        with pytest.raises(ConfigError, match="here"):
            PlatformSettings.read(bad, "here")


def test_a_folder_as_xnat_mounts_it(tmp_path: Path) -> None:
    source, out = series(tmp_path / "input", (True,)), tmp_path / "output"
    (source / "catalog.xml").write_text("<x/>")
    assert run("platform", "folder", source, out, "--method", "li").code == 2
    out.mkdir()
    assert run("platform", "folder", source, out, "--method", "li").code == 0
    (folder,) = out.iterdir()
    assert {path.name for path in folder.iterdir()} == {"reduced", "difference", "maps", "report.html", "report.json"}


def test_the_label_of_xnat() -> None:
    """The names that refer to each other agree, and the command line is one of this program."""
    (command,) = json.loads(run("platform", "xnat-label").text)
    assert command["version"] == acdnet.__version__
    mounts = {mount["name"]: mount for mount in command["mounts"]}
    assert [mounts[name]["writable"] for name in ("dicom-in", "result-out")] == [False, True]
    program, verb, *arguments = command["command-line"].split()
    assert (program, verb, arguments[0]) == ("acdnet", "platform", "folder")
    assert arguments[1:3] == [mounts[name]["path"] for name in ("dicom-in", "result-out")]
    assert {one["replacement-key"] for one in command["inputs"]} == {word for word in arguments if word[0] == "#"}
    (wrapper,) = command["xnat"]
    assert wrapper["contexts"] == ["xnat:imageScanData"]
    external = {one["name"] for one in wrapper["external-inputs"]}
    for derived in wrapper["derived-inputs"]:
        assert derived["derived-from-wrapper-input"] in external
        assert derived["provides-files-for-command-mount"] in mounts
    outputs = {one["name"]: one["mount"] for one in command["outputs"]}
    for handler in wrapper["output-handlers"]:
        assert outputs[handler["accepts-command-output"]] in mounts
        assert handler["as-a-child-of"] in external


def gear(root: Path, config: dict[str, object]) -> Path:
    """Make the folders of a gear with one archive as its input."""
    source = series(root / "made", (True, True))
    (root / "input" / "dicom").mkdir(parents=True)
    (root / "output").mkdir()
    shutil.make_archive(str(root / "input" / "dicom" / "ct.dicom"), "zip", source)
    (root / "config.json").write_text(json.dumps({"config": config, "inputs": {}}))
    return root


def test_flywheel(tmp_path: Path) -> None:
    root = gear(tmp_path / "v0", {"method": "li", "difference": True})
    done = run("platform", "flywheel", root)
    assert done.code == 0, done.text
    names = sorted(path.name[16:] for path in (root / "output").iterdir())
    assert names == ["-difference.dicom.zip", "-reduced.dicom.zip", "-report.html"]
    (archive,) = (root / "output").glob("*-reduced.dicom.zip")
    with zipfile.ZipFile(archive) as file, file.open("0001.dcm") as member:
        assert pydicom.dcmread(member).SeriesDescription.endswith("MAR research")


def test_archives_that_flywheel_cannot_mean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = gear(tmp_path / "v0", {"method": "li"})
    monkeypatch.setattr("acdnet.platforms.flywheel.MAX_UNPACKED_BYTES", 1000)
    assert "unpacks to more" in run("platform", "flywheel", root).text
    (root / "input" / "dicom" / "ct.dicom.zip").write_bytes(b"PK\3\4 no archive")
    assert run("platform", "flywheel", root).code == 3
    assert not list((root / "output").iterdir())


def test_the_manifest_of_flywheel() -> None:
    found = json.loads(run("platform", "flywheel-manifest").text)
    assert found == manifest()
    defaults = {name: one["default"] for name, one in found["config"].items()}
    assert PlatformSettings.read(defaults, "manifest.json") == PlatformSettings()
    assert found["command"].split()[1:] == ["platform", "flywheel"]
    assert found["version"] == acdnet.__version__


def _may_isolate() -> bool:
    if not (shutil.which("unshare") and shutil.which("setpriv") and hasattr(os, "geteuid") and os.geteuid() == 0):
        return False
    tried = subprocess.run(["unshare", "-mn", "mount", "--make-rprivate", "/"], capture_output=True, check=False)
    return tried.returncode == 0


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Return a folder that any user may enter; those of pytest are closed again by any other run of it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.slow
@pytest.mark.skipif(not _may_isolate(), reason="unshare and setpriv are not permitted here")
def test_as_a_user_without_rights_home_or_network_on_a_read_only_root(mercure: Path, open_folder: Path) -> None:
    """What an engine would do: a new mount and network space, only two folders mounted, one of them writable."""
    user, source, out = "12345", open_folder / "in", open_folder / "out"
    shutil.copytree(mercure / "in", source)
    out.mkdir()
    out.chmod(0o777)
    base = open_folder / "python"  # where this Python is may be closed to other users
    base.mkdir()
    python = base / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = [str(Path(path).absolute()) for path in sys.path if not path.startswith(sys.base_prefix)]
    script = f"""
        set -e
        mount --make-rprivate /
        mount --bind {source} {source} && mount -o remount,bind,ro {source}
        mount --bind {out} {out}
        mount --bind {sys.base_prefix} {base} && mount -o remount,bind,ro {base}
        mount -o remount,bind,ro / || mount -o remount,ro /
        mount -o remount,bind,ro {tempfile.gettempdir()} 2>/dev/null || true  # if it is a mount of its own
        if touch {open_folder}/read-only 2>/dev/null; then echo "the root is not read-only" >&2; exit 1; fi
        exec setpriv --reuid {user} --regid {user} --clear-groups --no-new-privs --bounding-set -all --inh-caps -all \\
            env -i MERCURE_IN_DIR={source} MERCURE_OUT_DIR={out} PYTHONPATH={":".join(site)} \\
            LD_LIBRARY_PATH={base}/lib {python} -m acdnet platform mercure
    """
    done = subprocess.run(["unshare", "-mn", "bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(list(out.glob("*.dcm"))) == 2
    assert (out / "result.json").stat().st_uid == int(user)


def test_a_platform_without_a_threshold_uses_the_localiser() -> None:
    assert PlatformSettings.read({}, "here").plan("out").threshold_hu is None
    assert PlatformSettings.read({"metal_threshold": 0}, "here").plan("out").threshold_hu is None
    assert PlatformSettings.read({"metal_threshold": 2400}, "here").plan("out").threshold_hu == 2400
