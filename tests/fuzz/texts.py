"""Damaged settings, JSON files and weights."""

import copy
import hashlib
import io
import json
import random
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load, save

from acdnet.weights.save import save_model
from benchmarks.literal import LiteralACDNet
from tests.fuzz.mutate import NUMBERS, damaged, text
from tests.fuzz.volumes import array_bytes
from tests.helpers import TINY, make_model

SETTINGS: dict[str, Any] = {
    "name": "x",
    "model": {"architecture": "acdnet-s", "T": 2, "N": 2, "start_from": ""},
    "data": {"train": ["nowhere"], "val": ["nowhere"], "val_pairs": 2},
    "training": {"recipe": "short", "minutes": 1.0, "batch": 2, "patch": 32, "rate": 1e-3, "halve_at": [0.5]},
    "run": {"folder": "run", "devices": 1, "device": "cpu", "loaders": 1},
}
REPORT: dict[str, Any] = {
    "format": 1, "method": "LI", "counts": {"reduced": 1, "unchanged": 2}, "notice": "x", "spacing_mm": [2.0, 2.0],
}  # fmt: skip
MANIFEST: dict[str, Any] = {
    "format": 2, "protocol": "clinical", "size": 64, "skipped": [], "passed_over": {},
    "slices": [{"file": "slices/a.safetensors", "sha256": "0" * 64, "patient": "p", "split": "train",
                "pairs": [{"metal_pixels": 9, "kind": "hip", "metal": "steel"}], "name": "a"}],
}  # fmt: skip


def _value(rng: random.Random) -> Any:
    """Return a hostile value of JSON or TOML."""
    kind = rng.randrange(7)
    if kind == 0:
        return rng.choice((*NUMBERS, -1, 10**18, 10**30, 10 ** rng.choice((400, 4000))))
    if kind == 1:
        return rng.choice((0.0, -1.0, 1e308, 1e-308, float("nan"), float("inf"), 0.5))
    if kind == 2:
        return text(rng).replace("\ud800", "?")
    if kind == 3:
        nested: Any = 1
        for _ in range(rng.choice((1, 3, 15, 30, 300))):
            nested = [nested] if rng.random() < 0.5 else {"a": nested}
        return nested
    return rng.choice((None, True, False, [], {}, [1, "a"], {"": 1}, ["a"] * 1000))


def _altered(values: Any, rng: random.Random) -> Any:
    """Change, remove or add one value somewhere."""
    if isinstance(values, dict) and values and rng.random() < 0.9:
        made = dict(values)
        key = rng.choice(list(made))
        kind = rng.randrange(6)
        if kind == 0:
            del made[key]
        elif kind == 1:
            made[text(rng).replace("\ud800", "?")] = _value(rng)
        elif kind == 2:
            made[key] = _value(rng)
        else:
            made[key] = _altered(made[key], rng)
        return made
    if isinstance(values, list) and values and rng.random() < 0.7:
        items = list(values)
        n = rng.randrange(len(items))
        items[n] = _altered(items[n], rng)
        return items
    return _value(rng)


def _several(values: Any, rng: random.Random) -> Any:
    for _ in range(rng.choice((1, 1, 2, 3))):
        values = _altered(values, rng)
    return values


@lru_cache
def _model() -> tuple[bytes, bytes, bytes]:
    """Return weights, card, and a checkpoint of the published implementation."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.safetensors"
        save_model(make_model(TINY), path, name="m", summary="x")
        torch.manual_seed(0)
        state = LiteralACDNet(T=2, N=2, d=3, p=3, N_p=2, blocks=1).state_dict()
        buffer = io.BytesIO()
        torch.save(state, buffer)
        return path.read_bytes(), path.with_suffix(".json").read_bytes(), buffer.getvalue()


def json_files(rng: random.Random, folder: Path) -> list[str]:
    """Damage the card of a model, a report or a manifest."""
    weights, card, _ = _model()
    kind = rng.randrange(3)
    base = (json.loads(card), REPORT, MANIFEST)[kind]
    made = json.dumps(_several(copy.deepcopy(base), rng) if rng.random() < 0.7 else base).encode(errors="replace")
    if rng.random() < 0.4:
        made = damaged(made, rng)
    name = ("m.json", "report.json", "manifest.json")[kind]
    (folder / "in").mkdir()
    (folder / "in" / name).write_bytes(made)
    if kind == 0:
        (folder / "in/m.safetensors").write_bytes(weights)
        return ["info", str(folder / "in/m.safetensors")]
    if kind == 2 and rng.random() < 0.5:
        return ["evaluate", str(folder / "in"), "-o", str(folder / "in/out"), "--methods", "li"]
    return ["info", str(folder / "in")]


def _toml(value: Any) -> str:
    """Write a value as TOML would, also where TOML cannot hold it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    if value is None:
        return ""
    return json.dumps(value)


def toml(rng: random.Random, folder: Path) -> list[str]:
    """Damage settings, in the file or by `--set`."""
    values = _several(SETTINGS, rng) if rng.random() < 0.8 else SETTINGS
    lines = []
    for key, value in values.items() if isinstance(values, dict) else [("a", values)]:
        if isinstance(value, dict) and rng.random() < 0.95:
            lines += [f"[{key}]", *(f"{_key(name)} = {_toml(one)}" for name, one in value.items())]
        else:
            lines.insert(0, f"{_key(key)} = {_toml(value)}")
    made = "\n".join(lines).encode(errors="replace")
    (folder / "a.toml").write_bytes(damaged(made, rng) if rng.random() < 0.4 else made)
    command = ["train", str(folder / "a.toml")]
    for _ in range(rng.choice((0, 0, 1, 2))):
        section = rng.choice((*SETTINGS, "", "a.b"))
        known = SETTINGS.get(section)
        name = rng.choice((*known, "a")) if isinstance(known, dict) else "rate"
        value = _toml(_value(rng)) if rng.random() < 0.7 else text(rng)
        command += ["--set", f"{section}.{name}={value}".replace("\0", "").replace("\ud800", "?")]
    return command


def _key(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else json.dumps(name)


def _rehashed(weights: bytes, card: bytes) -> bytes:
    """Return a card with the hash of the weights, so that what follows is tested."""
    return json.dumps({**json.loads(card), "sha256": hashlib.sha256(weights).hexdigest()}).encode()


def _tensors(weights: bytes, rng: random.Random) -> bytes:
    """Give a tensor other values, another shape or another type."""
    state = load(weights)
    key = rng.choice(list(state))
    old = state[key]
    state[rng.choice((key, key, key, text(rng).replace("\ud800", "?")))] = rng.choice((
        old.flatten(), old.double(), old.half(), old.flatten()[:0], old * float("nan"), old * 1e30, old.int(),
        torch.zeros(1), torch.ones(rng.choice((1, 3, 1000)), 2), old.bool(),
    )).clone().contiguous()  # fmt: skip
    header = json.loads(weights[8 : 8 + int.from_bytes(weights[:8], "little")])
    return save(state, metadata=header["__metadata__"])


def checkpoint(rng: random.Random, folder: Path) -> list[str]:
    """Damage weights with a card that fits, or a checkpoint of the published implementation."""
    weights, card, published = _model()
    if rng.random() < 0.4:
        name = rng.choice(("c.pt", "c.pt", "c.pth", "c"))
        (folder / name).write_bytes(damaged(published, rng, head=rng.choice((0, 2000))))
        return ["import-weights", str(folder / name), "-o", str(folder / "out.safetensors")]
    size = 8 + int.from_bytes(weights[:8], "little")
    made = _tensors(weights, rng) if rng.random() < 0.5 else damaged(weights, rng, head=size)
    (folder / "m.safetensors").write_bytes(made)
    (folder / "m.json").write_bytes(_rehashed(made, card))
    (folder / "a.npy").write_bytes(array_bytes("<f4", True))
    method = str(folder / "m.safetensors")
    return [
        "reduce",
        str(folder / "a.npy"),
        str(folder / "out"),
        "--pixel-mm",
        "2",
        "--method",
        method,
        "--workers",
        "1",
    ]
