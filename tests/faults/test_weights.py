"""F42 and F43: weights files that are damaged, hostile or not what they seem."""

import json
import os
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from acdnet.config import ACDNetConfig
from acdnet.errors import ModelFileError
from acdnet.files import sha256
from acdnet.weights.load import load_model
from acdnet.weights.published import read_published
from acdnet.weights.save import save_model
from acdnet.weights.selftest import KEY
from benchmarks.literal import LiteralACDNet
from tests.helpers import SMALL, make_model


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good") / "m.safetensors"
    save_model(make_model(), path, name="m", summary="")
    return path


@pytest.fixture
def model(good: Path, tmp_path: Path) -> Path:
    for file in (good, good.with_suffix(".json")):
        shutil.copy(file, tmp_path)
    return tmp_path / good.name


def refused(path: Path, match: str) -> None:
    with pytest.raises(ModelFileError, match=match) as caught:
        load_model(path)
    assert caught.value.exit_code == 3
    assert "\n" not in str(caught.value)
    assert str(path.name) in str(caught.value) or path.with_suffix(".json").name in str(caught.value)


def rehash(path: Path) -> None:
    """Make the card agree with the weights, as a careful attacker would."""
    edit_card(path, sha256=sha256(path.read_bytes()))


def edit_card(path: Path, **changes: Any) -> None:
    card = path.with_suffix(".json")
    card.write_text(json.dumps({**json.loads(card.read_text()), **changes}))


def edit_weights(path: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    state = load_file(path)
    change(state)
    save_file(state, path, metadata={"config": json.dumps(SMALL.to_dict())})
    rehash(path)


class Payload:
    """Runs a command when unpickled without restriction."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.marker}",)


def test_F42_the_untouched_model_loads(model: Path) -> None:
    load_model(model)


def test_F42_malicious_pickle(tmp_path: Path, model: Path) -> None:
    marker = tmp_path / "marker"
    for protocol in (2, 4):
        (tmp_path / "evil.pt").write_bytes(pickle.dumps(Payload(marker), protocol=protocol))
        with pytest.raises(ModelFileError):
            read_published(tmp_path / "evil.pt")
    torch.save({"D": Payload(marker)}, tmp_path / "evil.pt")
    with pytest.raises(ModelFileError, match="more than plain weights"):
        read_published(tmp_path / "evil.pt")
    shutil.copy(tmp_path / "evil.pt", model)
    refused(model, "SHA-256")
    rehash(model)
    refused(model, "not a safetensors file")
    assert not marker.exists()


def test_F42_truncated(model: Path, tmp_path: Path) -> None:
    data = model.read_bytes()
    for length in (0, 1, 8, 100, len(data) // 2, len(data) - 1):
        model.write_bytes(data[:length])
        refused(model, "SHA-256")
        rehash(model)
        refused(model, "not a safetensors file")
        edit_card(model, sha256=sha256(data))
    torch.save({"D": torch.zeros(3)}, tmp_path / "c.pt")
    checkpoint = (tmp_path / "c.pt").read_bytes()
    for length in (0, 10, len(checkpoint) // 2, len(checkpoint) - 1):
        (tmp_path / "c.pt").write_bytes(checkpoint[:length])
        with pytest.raises(ModelFileError):
            read_published(tmp_path / "c.pt")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_F42_one_flipped_bit(model: Path, good: Path, share: float, bit: int) -> None:
    data = bytearray(good.read_bytes())
    data[int(share * len(data))] ^= 1 << bit
    model.write_bytes(data)
    refused(model, "SHA-256")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda w: w.update({"start.tau": torch.tensor(torch.nan)}), r"start\.tau contains values that are not finite"),
        (lambda w: w.update(D=torch.zeros(5, 4, 5)), r"D is \(5, 4, 5\), expected \(4, 5, 5\)"),
        (lambda w: w.update(D=w["D"].double()), "D is torch.float64"),
        (lambda w: w.pop("D"), "contains"),
        (lambda w: w.update(other=w.pop("D")), "1 weights are missing, the first is D"),
        (lambda w: w.update(other=torch.zeros(4, 5, 5)), "contains"),
        (lambda w: w.update(D=w["D"] * 3), "self-test failed"),
        (lambda w: w.pop(KEY), "self-test"),
        *(
            (lambda w, kind=kind: w.update({KEY: w[KEY].to(kind)}), "self-test failed")
            for kind in (torch.bool, torch.float64, torch.float8_e4m3fn)
        ),
    ],
)
def test_F42_changed_weights(model: Path, change: Callable[[dict[str, torch.Tensor]], None], match: str) -> None:
    edit_weights(model, change)
    refused(model, match)


@pytest.mark.parametrize("change", [{"T": 3}, {"order": "XMK"}, {"order": "KXM"}])
def test_F42_other_config(model: Path, change: dict[str, Any]) -> None:
    edit_card(model, config={**SMALL.to_dict(), **change})
    refused(model, "its configuration differs")


def claim(model: Path, config: str) -> None:
    """Let weights and card agree on a configuration that is not theirs."""
    save_file(load_file(model), model, metadata={"config": config})
    rehash(model)


def test_F42_a_size_that_would_fill_the_memory_is_never_built(model: Path, tmp_path: Path) -> None:
    huge = ACDNetConfig.from_dict({**SMALL.to_dict(), "T": 10_000, "N_p": 10_000})
    claim(model, json.dumps(huge.to_dict()))
    edit_card(model, config=huge.to_dict(), parameters=huge.count_parameters())
    refused(model, "more than the limit")
    checkpoint = LiteralACDNet(T=2, N=2, d=3, p=3, N_p=2, blocks=1).state_dict()
    for fake in (torch.ones(1, 1).expand(5000, 1), torch.ones(1, 1).expand(10**9, 1)):
        torch.save({**checkpoint, "eta1_T": fake}, tmp_path / "c.pt")
        with pytest.raises(ModelFileError, match="not a plain tensor"):
            read_published(tmp_path / "c.pt")


def test_F42_strange_headers(model: Path) -> None:
    claim(model, "[" * 200_000)
    refused(model, "its configuration differs")
    claim(model, "3")
    refused(model, "its configuration differs")
    header = json.dumps({"a": {"dtype": "F32", "shape": [0, 2**63], "data_offsets": [0, 0]}}).encode()
    model.write_bytes(len(header).to_bytes(8, "little") + header)
    rehash(model)
    refused(model, "not a safetensors file")


@pytest.mark.parametrize("kind", ["sparse", "meta", "nested", "twice", "bomb"])
@pytest.mark.filterwarnings("ignore")
def test_F42_strange_checkpoints(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    state = LiteralACDNet(T=2, N=2, d=3, p=3, N_p=2, blocks=1).state_dict()
    match kind:
        case "sparse":
            state["D"] = state["D"].to_sparse()
        case "meta":
            state["D"] = state["D"].to("meta")
        case "nested":
            state["D"] = torch.nested.nested_tensor([torch.zeros(3), torch.zeros(2)])
        case "twice":
            state["module.D"] = state["D"]
        case "bomb":
            monkeypatch.setattr("acdnet.weights.published.MAX_WEIGHTS_BYTES", 300_000)
            state["D"] = torch.zeros(1, 100_000, 1, 1)
    path = tmp_path / "c.pt"
    torch.save(state, path)
    if kind == "bomb":
        with zipfile.ZipFile(path) as plain, zipfile.ZipFile(tmp_path / "b.pt", "w", zipfile.ZIP_DEFLATED) as packed:
            for entry in plain.infolist():
                packed.writestr(entry.filename, plain.read(entry))
        path = tmp_path / "b.pt"
        assert path.stat().st_size < 300_000
    with pytest.raises(ModelFileError) as caught:
        read_published(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"sha256": "0" * 64}, "SHA-256"),
        ({"parameters": 7}, "states 7 parameters"),
        ({"parameters": True}, "parameters has the wrong type"),
        ({"format": 99}, "format is 99"),
        ({"format": True}, "format is True"),
        ({"units": "HU"}, "units"),
        ({"config": {"T": 0}}, "T must be at least 1"),
        ({"config": {"T": 10**15}}, "T must be at most"),
        ({"config": {"T": 10**4299}}, "the limit is 64"),
        ({"config": {"depth": 3}}, "depth"),
        ({"config": None}, "config has the wrong type"),
        ({"name": 3}, "name has the wrong type"),
        ({"name": "a\n\x1b[31m"}, "printable"),
        ({"name": "a" * 9000}, "at most 2000"),
        ({"surprise": 1}, "the key 'surprise' is unknown"),
        ({"scores": {"a": "b"}}, "score 'a'"),
        ({"scores": {"a": float("nan")}}, "nan is not a finite number"),
        ({"training": [1]}, "training has the wrong type"),
        ({"training": {"data": 3}}, "is missing"),
    ],
)
def test_F42_card_that_does_not_fit(model: Path, changes: dict[str, Any], match: str) -> None:
    edit_card(model, **changes)
    refused(model, match)


@pytest.mark.parametrize("text", ["", "{", "[1]", "[" * 100_000, "x" * 2_000_000, '{"format": 1}'])
def test_F42_a_card_that_is_not_one(model: Path, text: str) -> None:
    model.with_suffix(".json").write_text(text)
    refused(model, "card|JSON|name")


def test_F42_card_missing_or_weights_missing(model: Path) -> None:
    model.with_suffix(".json").rename(model.with_suffix(".kept"))
    refused(model, "missing; a model consists of two files")
    model.with_suffix(".kept").rename(model.with_suffix(".json"))
    model.unlink()
    refused(model, "no such file")
    model.mkdir()
    refused(model, "is a folder")


def test_F42_a_pipe_for_a_card_does_not_hang(model: Path) -> None:
    model.with_suffix(".json").unlink()
    os.mkfifo(model.with_suffix(".json"))
    refused(model, "no such file")


def test_F42_renamed(model: Path) -> None:
    renamed = model.with_name("other.safetensors")
    model.rename(renamed)
    refused(renamed, "other.json is missing")


def test_F43_pt_is_refused_with_a_hint(tmp_path: Path) -> None:
    torch.save(make_model().state_dict(), tmp_path / "m.pt")
    with pytest.raises(ModelFileError, match="import-weights"):
        load_model(tmp_path / "m.pt")
