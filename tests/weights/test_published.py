"""Checkpoints in the published naming, made here by the literal network of the benchmarks."""

from pathlib import Path

import pytest
import torch

from acdnet.config import ACDNetConfig
from acdnet.errors import ModelFileError
from acdnet.weights.published import count_unused, read_published
from benchmarks.literal import LiteralACDNet
from tests.helpers import make_input


@pytest.mark.parametrize(
    "config",
    [ACDNetConfig(T=1, N=2, d=3, p=3, N_p=2, blocks=1), ACDNetConfig(T=3, N=3, d=4, p=5, N_p=4, blocks=4)],
)
@pytest.mark.parametrize("prefix", ["", "module."])
def test_any_size_gives_the_same_network(config: ACDNetConfig, prefix: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    sizes = {key: value for key, value in config.to_dict().items() if key not in ("order", "coarse")}
    literal = LiteralACDNet(**sizes).eval()
    torch.save({prefix + name: value for name, value in literal.state_dict().items()}, tmp_path / "c.pt")
    ours = read_published(tmp_path / "c.pt")
    assert ours.config == config
    unused = sum(p.numel() for p in literal.parameters()) - sum(p.numel() for p in ours.parameters())
    assert unused == count_unused(config)
    Y, X_li, I = make_input(2, 13, 18)
    with torch.no_grad():
        images, artifacts = literal(Y, X_li, I.float())
        found = ours(Y, X_li, I)
    torch.testing.assert_close((*found.images, found.image), tuple(images), atol=1e-3, rtol=1e-5)
    torch.testing.assert_close(found.artifacts, tuple(artifacts), atol=1e-3, rtol=1e-5)


def test_the_papers_size_has_1921_unused() -> None:
    assert count_unused(ACDNetConfig()) == 1_921


def state() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    return LiteralACDNet(T=2, N=2, d=3, p=3, N_p=2, blocks=1).state_dict()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"D": None}, "'D'"),
        ({"proxNet_X_T.1.layer.0.0.weight": None}, "contains"),
        ({"proxNet_X_T.1.layer.0.1.running_var": None}, r"stages\.1\.prox_X\.trunk\.0\.norm1\.running_var"),
        ({"strange": torch.zeros(1), "tau": None}, "'strange'"),
        ({"tau": torch.tensor([float("nan")])}, "not finite"),
        ({"D0": torch.zeros(1, 2, 9, 1)}, r"start\.D0 is \(2, 9, 1\), expected \(2, 3, 3\)"),
        ({"D": torch.zeros(3)}, "sizes"),
        ({"convert_conv_layer1": torch.zeros(()), "strange": torch.zeros(3)}, "convert_conv_layer1"),
        ({"eta1_T": torch.zeros(2, 1, dtype=torch.int64)}, "int64"),
        ({"eta2_T": torch.zeros(5, 1)}, "contains"),
    ],
)
def test_errors_name_the_weights(change: dict[str, torch.Tensor | None], message: str, tmp_path: Path) -> None:
    changed = {name: value for name, value in {**state(), **change}.items() if value is not None}
    torch.save(changed, tmp_path / "c.pt")
    with pytest.raises(ModelFileError, match=message):
        read_published(tmp_path / "c.pt")


def test_files_without_a_state_dict_are_refused(tmp_path: Path) -> None:
    torch.save([1, 2, 3], tmp_path / "c.pt")
    with pytest.raises(ModelFileError, match="state dict"):
        read_published(tmp_path / "c.pt")
    with pytest.raises(ModelFileError, match="no such file"):
        read_published(tmp_path / "nothing.pt")
