"""The layers stay apart: who may import whom, and what is quick stays quick."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import acdnet

SOURCE = Path(acdnet.__file__).parent
MAY_IMPORT = {
    "errors": set[str](),
    "units": set[str](),
    "memory": set[str](),
    "compiled": set[str](),
    "metal": {"errors"},
    "files": {"errors"},
    "config": {"errors"},
    "slices": {"errors", "units"},
    "pictures": {"files"},
    "physics": {"compiled", "units", "errors", "files"},
    "model": {"compiled", "config", "units", "errors"},
    "baselines": {"physics", "units", "errors"},
    "rivals": {"baselines", "physics", "config", "units"},
    "dicom": {"slices", "units", "errors", "files"},
    "scans": {"dicom", "errors", "files"},
    "reduction": {
        *("scans", "baselines", "rivals", "model", "physics", "weights"),
        *("metal", "pictures", "config", "units", "errors", "files"),
    },
    "data": {"baselines", "physics", "metal", "dicom", "scans", "slices", "pictures", "units", "errors", "files"},
    "train": {
        "model",
        "rivals",
        "physics",
        "data",
        "evaluate",
        "weights",
        "config",
        "units",
        "memory",
        "errors",
        "files",
    },
    "evaluate": {"baselines", "rivals", "model", "physics", "data", "weights", "pictures", "units", "errors", "files"},
    "weights": {"model", "rivals", "physics", "config", "units", "errors", "files"},
    "demo": {"physics", "dicom", "scans", "reduction", "weights", "evaluate", "pictures", "errors", "files"},
    "viewer": {
        *("reduction", "scans", "dicom", "model", "weights"),
        *("config", "units", "errors", "files"),
    },
    "__main__": {"cli"},
    "cli": {
        "demo",
        "viewer",
        "data",
        "dicom",
        "physics",
        "reduction",
        "scans",
        "slices",
        "train",
        "evaluate",
        "metal",
        "memory",
        "baselines",
        "model",
        "weights",
        "config",
        "errors",
        "files",
    },
}
HEAVY = {
    *("torch", "numpy", "scipy", "numba", "matplotlib", "skimage", "safetensors", "onnx", "onnxruntime"),
    *("pydicom", "nibabel", "h5py", "xraylib", "spekpy"),
}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def imports(path: Path, only_top_level: bool = False) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    for node in tree.body if only_top_level else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "acdnet":
                yield from (f"acdnet.{alias.name}" for alias in node.names if alias.name != "__version__")
            else:
                yield node.module or ""


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_layer(path: Path) -> None:
    if path == SOURCE / "__init__.py":
        return
    layer = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    for name in imports(path):
        if not name.startswith("acdnet."):
            continue
        other = name.split(".")[1]
        assert other == layer or other in MAY_IMPORT[layer], f"{path.name} imports {name}"


def test_every_layer_is_in_the_table() -> None:
    layers = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in modules()}
    assert layers - {"__init__"} == MAY_IMPORT.keys()


@pytest.mark.parametrize("command", ["import acdnet", "import acdnet.cli", "import acdnet.weights.shipped"])
def test_quick_imports_load_nothing_heavy(command: str) -> None:
    script = f"import sys; {command}; print(*sorted({{m.split('.')[0] for m in sys.modules}} & {HEAVY!r}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


SHIPPED = SOURCE / "weights" / "models"


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["models"], ["info", str(next(SHIPPED.glob("*.safetensors")))]]
)
def test_commands_that_run_without_torch(arguments: list[str]) -> None:
    script = "import sys; sys.modules['torch'] = None; from acdnet.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_file_is_long() -> None:
    long = {path.name: n for path in modules() if (n := len(path.read_text().splitlines())) > 300}
    assert not long
