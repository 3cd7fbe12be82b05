"""A model written and read back."""

from pathlib import Path

import pytest
import torch

import acdnet
from acdnet.errors import InputRefused, ModelFileError
from acdnet.weights.card import Training, read_card
from acdnet.weights.load import load_model, read_model
from acdnet.weights.save import save_model
from tests.helpers import SMALL, make_input, make_model


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    model = make_model()
    training = Training(data="none", protocol="none", patches_seen=3, hours=0.5)
    written = save_model(model, path, name="m", summary="a test", training=training, scores={"PSNR": 40.5})
    read, card = read_model(path)
    assert card == written
    assert card.config == SMALL
    assert card.training == training
    assert card.version == acdnet.__version__
    assert "research use only" in card.notice.lower()
    inputs = make_input(1, 13, 18)
    with torch.no_grad():
        assert torch.equal(read(*inputs).image, model(*inputs).image)
    torch.testing.assert_close(load_model(path)(*inputs).image, model(*inputs).image.detach(), atol=1e-2, rtol=0)


def test_existing_files_are_kept_unless_overwritten_explicitly(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    save_model(make_model(), path, name="m", summary="")
    before = path.read_bytes()
    with pytest.raises(InputRefused, match="already exists"):
        save_model(make_model(seed=1), path, name="m", summary="")
    assert path.read_bytes() == before
    save_model(make_model(seed=1), path, name="m", summary="", overwrite=True)
    assert path.read_bytes() != before
    read_model(path)


def test_other_endings_and_missing_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match="safetensors"):
        save_model(make_model(), tmp_path / "m.pt", name="m", summary="")
    with pytest.raises(InputRefused, match="no such folder"):
        save_model(make_model(), tmp_path / "no" / "m.safetensors", name="m", summary="")


def test_a_broken_model_is_not_written(tmp_path: Path) -> None:
    model = make_model()
    with torch.no_grad():
        model.D[0, 0, 0] = float("nan")
    with pytest.raises(ModelFileError, match="D contains values that are not finite"):
        save_model(model, tmp_path / "m.safetensors", name="m", summary="")
    assert list(tmp_path.iterdir()) == []


def test_card_is_readable_without_the_weights(tmp_path: Path) -> None:
    save_model(make_model(), tmp_path / "m.safetensors", name="m", summary="a test")
    (tmp_path / "m.safetensors").unlink()
    assert read_card(tmp_path / "m.safetensors").summary == "a test"


def test_the_public_call() -> None:
    assert acdnet.load_model is load_model
    with pytest.raises(AttributeError):
        acdnet.nothing  # noqa: B018


def test_weights_of_16_bits(tmp_path: Path) -> None:
    model, full, short = make_model(), tmp_path / "full.safetensors", tmp_path / "short.safetensors"
    save_model(model, full, name="m", summary="")
    save_model(model, short, name="m", summary="", half=True)
    assert short.stat().st_size < full.stat().st_size - 3000  # most of a network this small is names
    read, _ = read_model(short)
    for (name, before), after in zip(model.state_dict().items(), read.state_dict().values(), strict=True):
        assert after.dtype == before.dtype
        exact = before.half().float() if before.dim() > 1 else before
        assert torch.equal(after, exact), name
    with torch.no_grad():
        model.D[0, 0, 0] = 1e5  # more than 16 bits hold
    with pytest.raises(ModelFileError, match="D contains values that are not finite"):
        save_model(model, short, name="m", summary="", half=True, overwrite=True)
    read_model(short)
