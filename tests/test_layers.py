"""The layers stay apart: who may import whom, and what is quick stays quick."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import acdnet

SOURCE = Path(acdnet.__file__).parent
VOCABULARY = {"errors", "messages", "npy", "parse", "units", "files", "config", "figures", "limits"}
"""Loose files that every room may import, but for `model`."""
MAY_IMPORT = {
    "messages": set[str](),
    "errors": {"messages"},
    "npy": {"errors", "messages"},
    "parse": {"errors", "files", "messages"},
    "units": set[str](),
    "files": {"errors"},
    "config": {"errors"},
    "limits": {"errors"},
    "figures": {"files"},
    "model": {"config", "units"},
    "fast": {"model", "errors", "messages"},
    "physics": {"fast", *VOCABULARY},
    "methods.learned": {"physics", "config", "units"},
    "weights": {"model", "fast", "physics", "methods.learned", *VOCABULARY},
    "methods": {"methods.learned", "weights", "fast", "model", "physics", *VOCABULARY},
    "io": VOCABULARY,
    "data": {"io", "methods", "physics", *VOCABULARY},
    "reduction": {"io", "methods", "physics", "weights", *VOCABULARY},
    "batch": {"reduction", "io", "methods", "fast", *VOCABULARY},
    "platforms": {"batch", "io", "methods", *VOCABULARY},
    "evaluate": {"data", "methods", "model", "physics", "weights", *VOCABULARY},
    "train": {"data", "evaluate", "methods", "model", "fast", "physics", "weights", "methods.learned", *VOCABULARY},
    "viewer": {"reduction", "io", "methods", "physics", "weights", *VOCABULARY},
    "cli": {
        *(
            "batch",
            "platforms",
            "viewer",
            "train",
            "evaluate",
            "reduction",
            "data",
            "io",
            "methods",
            "weights",
            "physics",
            "fast",
        ),
        *VOCABULARY,
    },
    "__main__": {"cli"},
}
"""What each room may import, from the paper outwards. The networks of other methods are a room in a room."""
LATE = {"acdnet.model.acdnet": "acdnet.weights.load"}
"""What a module may import inside a function against the rules: `ACDNet.from_pretrained`."""
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


def room_of(module: str) -> str:
    """Return the room of a module given without the name of the package."""
    return "methods.learned" if module.startswith("methods.learned") else module.split(".")[0]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_layer(path: Path) -> None:
    if path == SOURCE / "__init__.py":
        return
    module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    room = room_of(module)
    for name in imports(path):
        if not name.startswith("acdnet.") or LATE.get(f"acdnet.{module}") == name:
            continue
        other = room_of(name.removeprefix("acdnet."))
        assert other == room or other in MAY_IMPORT[room], f"{module} imports {name}"


def test_every_room_is_in_the_table() -> None:
    rooms = {room_of(".".join(path.relative_to(SOURCE).with_suffix("").parts)) for path in modules()}
    assert rooms - {"__init__"} == MAY_IMPORT.keys()


def test_every_room_has_its_sentence() -> None:
    """CONTRIBUTING.md says of every room what it holds."""
    page = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text()
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert [room for room in sorted(rooms) if f"`{room}`" not in page] == []


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
