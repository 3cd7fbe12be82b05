import pytest
import torch

from acdnet.config import ARCHITECTURES
from acdnet.errors import ConfigError
from acdnet.model.acdnet import ACDNet
from acdnet.train.build import make_model
from acdnet.train.config import from_dict
from acdnet.train.init import initialise_as_solver


def untrained(initial: str) -> ACDNet:
    torch.manual_seed(0)
    model = ACDNet(ARCHITECTURES["acdnet-s"])
    return (initialise_as_solver(model) if initial == "solver" else model).eval()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_untrained_network_decomposes_y(sign: float) -> None:
    """Y is X + A in every stage for streaks of both signs; the published weights explain little of them."""
    X = torch.full((1, 1, 48, 48), 50.0)
    streak = torch.zeros_like(X)
    streak[..., 20:26, 8:40] = sign * 20.0
    I, Y = torch.ones_like(X), X + streak
    with torch.no_grad():
        ours, published = (untrained(initial)(Y, X, I) for initial in ("solver", "published"))
    for image, A in zip(ours.images[1:], ours.artifacts, strict=True):
        assert (Y - image - A).abs().mean() < 0.1 * streak.abs().mean()
    inside = streak != 0
    assert (sign * ours.artifacts[-1])[inside].mean() > 8.0
    assert (sign * published.artifacts[-1])[inside].mean() < 3.0


def test_which_initial_weights_a_run_uses() -> None:
    def D_of(training: dict[str, object]) -> torch.Tensor:
        model, _ = make_model(from_dict({"model": {"architecture": "acdnet-s"}, "training": training}))
        assert isinstance(model, ACDNet)
        return model.D

    assert (D_of({}) < 0).any()
    assert not (D_of({"initial": "published"}) < 0).any()
    assert not (D_of({"recipe": "paper"}) < 0).any()
    with pytest.raises(ConfigError, match="solver or published"):
        from_dict({"training": {"initial": "random"}})
