"""Muon: steps of convolutions in which no direction is left behind.

K. Jordan and others, "Muon: an optimizer for hidden layers in neural networks", 2024. The gradient of a convolution, as
a matrix of outputs by inputs, is mostly ruled by a few directions. Muon takes the nearest orthogonal matrix instead:
with the gradients' running mean, moved on towards the last of them, G = U S V',

    W <- W - rate * SHARE * sqrt(longer side) * U V'

in which every direction has the same part. U V' is found by a few products of matrices (Newton and Schulz) rather than
by a decomposition. Convolutions from or to one channel, and all that is none, learn by Adam's rule at the same rate.
`torch.optim.Muon` has the same rule for matrices alone; it refuses convolutions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

MOMENTUM = 0.9
SHARE = 0.4
"""Root mean square of a step, about, as a share of the rate."""
ITERATIONS = 5
QUINTIC = (3.4445, -4.7750, 2.0315)
"""Jordan's polynomial: singular values above a thousandth of the largest come near 1 in five rounds."""
TINY = 1e-7


class Muon(torch.optim.Optimizer):
    """Muon for the convolutions of several channels among `params`, Adam for the rest."""

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
                    _turn(weight, weight.grad, self.state[weight], group["lr"])
                else:
                    _adam(weight, weight.grad, self.state[weight], group)


def is_mixing(weight: Tensor) -> bool:
    """Tell whether a weight is a convolution from several channels to several."""
    return weight.dim() == 4 and min(weight.shape[:2]) > 1


def orthogonal(G: Tensor) -> Tensor:
    """Return about U V' of a matrix G = U S V'."""
    a, b, c = QUINTIC
    wide = G if G.shape[0] <= G.shape[1] else G.T
    X: Tensor = wide / (wide.norm() + TINY)
    for _ in range(ITERATIONS):
        A = X @ X.T
        X = a * X + (b * A + c * A @ A) @ X
    return X if G.shape[0] <= G.shape[1] else X.T


def _turn(weight: Tensor, gradient: Tensor, state: dict[str, Any], rate: float) -> None:
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
