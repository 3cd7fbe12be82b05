"""Muon for convolutions.

K. Jordan and others, "Muon: an optimizer for hidden layers in neural networks", 2024. The gradient of a convolution, as
a matrix of outputs by inputs, is usually dominated by a few directions. Muon replaces it by the nearest orthogonal
matrix, in which all directions have equal weight. With the Nesterov momentum of the gradients, G = U S V',

    W <- W - rate * SHARE * sqrt(longer side) * U V'

U V' is computed by Newton-Schulz iterations instead of a decomposition. Convolutions from or to one channel, and all
other weights, are updated by Adam at the same rate. `torch.optim.Muon` applies the same rule to matrices only and
refuses convolutions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

MOMENTUM = 0.9
SHARE = 0.4
"""Approximate root mean square of a step as a share of the rate."""
ITERATIONS = 5
QUINTIC = (3.4445, -4.7750, 2.0315)
"""Jordan's polynomial: five iterations bring singular values above a thousandth of the largest close to 1."""
TINY = 1e-7


class Muon(torch.optim.Optimizer):
    """Muon for convolutions between several channels, Adam for all other weights."""

    def __init__(self, params: Iterable[nn.Parameter], lr: float, betas: tuple[float, float]) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": 1e-8})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Take one step."""
        assert closure is None
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                if is_mixing(weight):
                    _muon(weight, weight.grad, self.state[weight], group["lr"])
                else:
                    _adam(weight, weight.grad, self.state[weight], group)


def is_mixing(weight: Tensor) -> bool:
    """Tell whether a weight is a convolution with several input and several output channels."""
    return weight.dim() == 4 and min(weight.shape[:2]) > 1


def orthogonal(G: Tensor) -> Tensor:
    """Return an approximation of U V' for a matrix G = U S V'."""
    a, b, c = QUINTIC
    wide = G if G.shape[0] <= G.shape[1] else G.T
    X: Tensor = wide / (wide.norm() + TINY)
    for _ in range(ITERATIONS):
        A = X @ X.T
        X = a * X + (b * A + c * A @ A) @ X
    return X if G.shape[0] <= G.shape[1] else X.T


def _muon(weight: Tensor, gradient: Tensor, state: dict[str, Any], rate: float) -> None:
    if not state:
        state["mean"] = torch.zeros_like(gradient)
    state["mean"].lerp_(gradient, 1 - MOMENTUM)
    ahead = gradient.lerp(state["mean"], MOMENTUM).flatten(1)
    direction = orthogonal(ahead) * max(ahead.shape) ** 0.5
    weight.sub_(direction.reshape(weight.shape), alpha=rate * SHARE)


def _adam(weight: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
    if not state:
        state.update(step=0, mean=torch.zeros_like(gradient), square=torch.zeros_like(gradient))
    state["step"] += 1
    beta1, beta2 = group["betas"]
    state["mean"].lerp_(gradient, 1 - beta1)
    state["square"].lerp_(gradient.square(), 1 - beta2)
    mean, square = state["mean"] / (1 - beta1 ** state["step"]), state["square"] / (1 - beta2 ** state["step"])
    weight.sub_(group["lr"] * mean / (square.sqrt() + group["eps"]))
