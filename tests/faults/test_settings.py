"""Settings and devices from outside: numbers without end, deep nesting, devices that are not there."""

from pathlib import Path

import pytest
import torch

from acdnet.errors import ConfigError, InputRefused
from acdnet.fast.device import choose_device, most_precise
from acdnet.parse import MAX_NESTING, parse_json, parse_toml, parse_value
from tests.reduction.make import reduce, run, series

DIGITS = {name: "9" * count for name, count in (("400", 400), ("5000", 5000))}
VALUES = {
    "F65 400 digits": DIGITS["400"],
    "F65 5000 digits": DIGITS["5000"],
    "F65 5000 digits after the point": f"0.{DIGITS['5000']}e999",
    "F65 infinity": "inf",
    "F65 not a number": "nan",
    "F65 deep": "[" * 5000 + "]" * 5000,
    "F65 deeper than any setting": "[" * (MAX_NESTING + 2) + "]" * (MAX_NESTING + 2),
    "F65 tables": "{a = " * 1000 + "1" + "}" * 1000,
}


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in VALUES])
def test_values(tmp_path: Path, name: str) -> None:
    """In the file, and from the command line."""
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text('[run]\nfolder = "run"\n')
    bad.write_text(f"[training]\nrate = {VALUES[name]}\n")
    for done in (run("train", bad), run("train", good, "--set", f"training.rate={VALUES[name]}")):
        assert done.code == 2, done.text
        assert len(done.text) < 600
        assert done.text.isprintable()
    assert {path.name for path in tmp_path.iterdir()} == {"good.toml", "bad.toml"}


@pytest.mark.parametrize("name", ["float400", "deep"])
def test_f65_samples(shared: Path, name: str) -> None:
    assert run("train", shared / f"reference/faults/{name}.toml").code == 2


def test_f65_deep_keys_and_long_files() -> None:
    for text in ("a." * 1000 + "b = 1", "[" + "a." * 1000 + "b]", "# " + "x" * 2**20):
        with pytest.raises(ConfigError, match=r"nested|longer"):
            parse_toml(text, "settings")
    assert parse_toml("a = [1, 2.5]\n[b]\nc = 'd'", "settings") == {"a": [1, 2.5], "b": {"c": "d"}}


def test_f65_single_values() -> None:
    assert [parse_value(text, "v") for text in ("3", "[1.5]", "word", "'a b'", "1\nx = 2")] == [
        *(3, [1.5], "word", "a b", "1\nx = 2")
    ]


@pytest.mark.parametrize(
    "data", [b"[" * 10**5, b"[" * 99 + b"]" * 99, b"1" * 5000, b"9" * 400, b"NaN", b"1e999", b"\xff"]
)
def test_f65_json(data: bytes) -> None:
    with pytest.raises(InputRefused, match="report: is not valid JSON"):
        parse_json(data, "report")
    assert parse_json(b'{"a": [1, null, 2.5, "x"]}', "report") == {"a": [1, None, 2.5, "x"]}


def test_f65_counts_have_limits(tmp_path: Path) -> None:
    """A run starts no thousands of processes because somebody typed a number."""
    for command in (("simulate", "phantom", tmp_path / "out"), ("reduce", tmp_path, tmp_path / "out")):
        assert run(*command, "--workers", 10**6).code == 2
    assert run("simulate", "phantom", tmp_path / "out", "--slices", 10**9).code == 2
    (tmp_path / "a.toml").write_text("[run]\ndevices = 100")
    assert run("train", tmp_path / "a.toml").code == 2


@pytest.mark.parametrize(
    "device", ["mps", "xpu", "meta", "cuda:77", "cpu:1", "hpu", "privateuseone", "x", "", "cuda:-1"]
)
def test_f66_devices_that_are_not_there(tmp_path: Path, device: str) -> None:
    if device == "mps" and torch.backends.mps.is_available():
        pytest.skip("it is there")
    done = reduce(series(tmp_path / "in", (True,)), tmp_path / "out", "--device", device)
    assert done.code == 2
    assert "choose auto, cpu, cuda" in done.text
    assert {path.name for path in tmp_path.iterdir()} == {"in"}


def test_f66_devices_that_torch_has(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_device("cpu") == "cpu"
    assert choose_device("cpu:0") == "cpu:0"
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert [choose_device(name) for name in ("mps", "cuda", "cuda:1", "auto")] == ["mps", "cuda", "cuda:1", "cuda"]
    types = [most_precise(torch.device(name)) for name in ("cpu", "cuda", "mps")]
    assert types == [torch.float64, torch.float64, torch.float32]
    with pytest.raises(ConfigError, match="cuda:2"):
        choose_device("cuda:2")


@pytest.mark.parametrize(("data", "code"), [("[data]\nval = ['x']", 2), ("[data]\ntrain = ['nowhere']", 3)])
def test_f65_no_process_is_started_for_a_run_that_cannot_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: str, code: int
) -> None:
    def started(_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("acdnet.train.loop.make_fabric", started)
    monkeypatch.chdir(tmp_path)
    settings = "[training]\nminutes = 1\n[run]\nfolder = 'run'"
    (tmp_path / "a.toml").write_text(f"{data}\n{settings}")
    done = run("train", tmp_path / "a.toml", "--set", "run.devices=0x10")
    assert done.code == code, done.text
    assert [path.name for path in tmp_path.iterdir()] == ["a.toml"]
