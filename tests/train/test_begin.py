from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from acdnet.config import ACDNetConfig
from acdnet.errors import ConfigError
from acdnet.model.acdnet import ACDNet
from acdnet.train.begin import grown, make_model
from acdnet.train.config import from_dict
from acdnet.weights.save import save_model

SMALL = ACDNetConfig(T=2, N=2, d=3, p=3, N_p=2, blocks=1)


def same(a: torch.nn.Module, b: torch.nn.Module) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


@pytest.mark.parametrize("order", ["KMX", "XMK"])
def test_a_grown_network_has_copies_of_the_stages(order: str) -> None:
    model = ACDNet(replace(SMALL, order=order))
    longer = grown(model, 5)
    assert longer.config.T == 5
    assert torch.equal(longer.D, model.D)
    assert same(longer.start, model.start)
    assert same(longer.prox_last, model.prox_last)
    for new in longer.stages[1:]:
        assert same(new.prox_X, model.stages[1].prox_X)  # type: ignore[arg-type]
    assert same(longer.stages[0], model.stages[0])


def test_start_from(tmp_path: Path) -> None:
    model = ACDNet(SMALL)
    path = tmp_path / "short.safetensors"
    save_model(model, path, name="short", summary="short", architecture="acdnet-s")
    sizes = {"T": 3, "N": 2, "d": 3, "p": 3, "N_p": 2, "blocks": 1}
    config = from_dict({"model": {"start_from": str(path), **sizes}})
    assert make_model(config).config == replace(SMALL, T=3)
    for other in ({"T": 1}, {"N": 1}):
        with pytest.raises(ConfigError, match="another architecture"):
            make_model(from_dict({"model": {"start_from": str(path), **sizes, **other}}))
