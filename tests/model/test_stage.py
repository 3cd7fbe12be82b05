"""The three updates are gradient steps on the objective of Eq. (5)."""

import pytest
import torch
from torch import Tensor

from acdnet.config import ACDNetConfig
from acdnet.model import wcd
from acdnet.model.stage import K_STEP_SCALE, STEP_SCALE, Observation, Stage, State, shared

CONFIG = ACDNetConfig(T=1, N=3, d=4, p=5, N_p=2, blocks=1)
H, W = 13, 18


class Identity(torch.nn.Module):
    """A prox that does nothing, so that the bare gradient step is seen."""

    def forward(self, *x: Tensor) -> Tensor | tuple[Tensor, ...]:
        return x[0] if len(x) == 1 else x


@pytest.fixture
def setting() -> tuple[Stage, Tensor, State, Observation]:
    g = torch.Generator().manual_seed(0)

    def random(*shape: int) -> Tensor:
        return torch.randn(shape, generator=g, dtype=torch.float64)

    stage = Stage(CONFIG).double()
    stage.prox_K, stage.prox_M, stage.prox_X = Identity(), Identity(), Identity()  # type: ignore[assignment]
    D, K, M, X, P = random(4, 5, 5), random(2, 3, 4), random(2, 3, H, W), random(2, 1, H, W), random(2, 2, H, W)
    state = State(K, M, X, P, wcd.synthesise(wcd.mix(D, K), M))
    return stage, D, state, Observation(random(2, 1, H, W), random(2, 1, H, W) > -1)


def half_objective(D: Tensor, K: Tensor, M: Tensor, X: Tensor, observed: Observation) -> Tensor:
    R = observed.I * (observed.Y - X - wcd.synthesise(wcd.mix(D, K), M))
    return 0.5 * R.square().sum()


def step(stage: Stage, letter: str, D: Tensor, state: State, observed: Observation) -> State:
    if letter == "X":
        return stage.x_step(state, observed)
    return {"K": stage.k_step, "M": stage.m_step}[letter](D, state, observed)


@pytest.mark.parametrize("letter", ["K", "M", "X"])
def test_step_follows_the_gradient(setting: tuple[Stage, Tensor, State, Observation], letter: str) -> None:
    stage, D, state, observed = setting
    variables = {"K": state.K, "M": state.M, "X": state.X}
    variables[letter] = variables[letter].clone().requires_grad_()
    (gradient,) = torch.autograd.grad(half_objective(D, **variables, observed=observed), variables[letter])
    size = {
        "K": stage.eta_K / (K_STEP_SCALE * H * W),
        "M": stage.eta_M / STEP_SCALE,
        "X": stage.eta_X / STEP_SCALE,
    }[letter]
    after = step(stage, letter, D, state, observed)
    torch.testing.assert_close(getattr(after, letter), variables[letter] - size * gradient)


@pytest.mark.parametrize("letter", ["K", "M", "X"])
def test_artifact_is_kept_up_to_date(setting: tuple[Stage, Tensor, State, Observation], letter: str) -> None:
    stage, D, state, observed = setting
    after = step(stage, letter, D, state, observed)
    torch.testing.assert_close(after.A, wcd.synthesise(wcd.mix(D, after.K), after.M))


def test_first_K_is_found_from_nothing() -> None:
    D, M, X = torch.rand(4, 5, 5), torch.rand(1, 3, H, W), torch.rand(1, 1, H, W)
    observed = Observation(torch.rand(1, 1, H, W), torch.ones(1, 1, H, W, dtype=torch.bool))
    stage = Stage(CONFIG, finds_K=True)
    nothing = State(torch.zeros(1, 3, 4), M, X, X, torch.zeros_like(X))
    expected = stage.prox_K(wcd.correlate(D, M, observed.Y - X))
    torch.testing.assert_close(stage.k_step(D, nothing, observed).K, expected)
    assert not stage.eta_K.requires_grad


def test_correlations_of_patches_add_up_to_those_of_their_image() -> None:
    L = torch.randn(6, 2, 3)
    pooled = shared(L, 3)
    torch.testing.assert_close(pooled[0], L[:3].sum(0))
    torch.testing.assert_close(pooled[5], L[3:].sum(0))
    assert torch.equal(shared(L, 1), L)
