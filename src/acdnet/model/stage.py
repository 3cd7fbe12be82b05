r"""One stage of the network: one iteration of the solver, Eqs. (10), (12) and (14).

The three updates are proximal gradient steps on || I . (Y - X - (D * K) (x) M) ||^2. With the residual
R = I . (Y - X - A) each is prox( variable + step * adjoint(R) ).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from acdnet.config import ACDNetConfig
from acdnet.model.prox import ProxK, ProxM, ProxX
from acdnet.model.wcd import analyse, correlate, mix, synthesise

DICTIONARY_SCALE = 10.0
"""The operators use D / 10: the norm of (D * K) (x) is then so small that no step in M up to one overshoots."""

STEP_SCALE = 10.0
"""eta_M and eta_X are stored ten times larger than used, which slows down their relative change by Adam."""

K_STEP_SCALE = 50.0
"""The same for eta_K; its gradient is also divided by the H W pixels it sums over."""

ETA_K, ETA_M, ETA_X = 5.0, 1.0, 5.0
"""Initial values of the stored step sizes."""


class Observation(NamedTuple):
    """The given corrupted image Y (B x 1 x H x W) and non-metal mask I (bool, true = not metal)."""

    Y: Tensor
    I: Tensor

    def residual(self, X: Tensor, A: Tensor) -> Tensor:
        """Compute I . (Y - X - A) by selection, so that values of Y in the metal, even NaN, have no effect."""
        return torch.where(self.I, self.Y - X - A, 0.0)


class State(NamedTuple):
    """The estimated variables. A always equals (D * K) (x) M."""

    K: Tensor
    M: Tensor
    X: Tensor
    P: Tensor
    A: Tensor


def shared(L: Tensor, images: int) -> Tensor:
    """Sum the correlations, B x N x d, over groups of consecutive images, which are patches of one scan."""
    if images == 1:
        return L
    B, N, d = L.shape
    return L.view(B // images, images, N, d).sum(1, keepdim=True).expand(-1, images, -1, -1).reshape(B, N, d)


class Stage(nn.Module):
    """Updates of K, M and X in the order of the config. `D` is already divided by its scale.

    In training, every `patches_per_pair` consecutive images of a batch are patches of one scan and share its K. A patch
    with its own K would fit the few streaks it shows, which is impossible for a whole image.

    `finds_K` marks a first stage that starts with K: from K = 0 and A = 0 it takes a step of one, so its eta_K has no
    effect. It is kept, frozen, because published checkpoints have one for every stage.
    """

    def __init__(self, config: ACDNetConfig, finds_K: bool = False) -> None:
        super().__init__()
        self.order = config.order
        self.finds_K = finds_K
        self.patches_per_pair = 1
        self.eta_K = nn.Parameter(torch.tensor(ETA_K), requires_grad=not finds_K)
        self.eta_M = nn.Parameter(torch.tensor(ETA_M))
        self.eta_X = nn.Parameter(torch.tensor(ETA_X))
        self.prox_K = ProxK(config.N, config.d)
        self.prox_M = ProxM(config.N, config.blocks)
        self.prox_X = ProxX(config.N_p, config.blocks, config.coarse)

    def forward(self, D: Tensor, state: State, observed: Observation) -> State:
        for letter in self.order:
            match letter:
                case "K":
                    state = self.k_step(D, state, observed)
                case "M":
                    state = self.m_step(D, state, observed)
                case "X":
                    state = self.x_step(state, observed)
        return state

    def k_step(self, D: Tensor, s: State, observed: Observation) -> State:
        """Update K, Eq. (10)."""
        R = observed.residual(s.X, s.A)
        K = self.prox_K(s.K + self._step_K(R) * shared(correlate(D, s.M, R), self._sharing()))
        return s._replace(K=K, A=synthesise(mix(D, K), s.M))

    def m_step(self, D: Tensor, s: State, observed: Observation) -> State:
        """Update M, Eq. (12)."""
        C = mix(D, s.K)
        R = observed.residual(s.X, s.A)
        M = self.prox_M(s.M + self.eta_M / STEP_SCALE * analyse(C, R))
        return s._replace(M=M, A=synthesise(C, M))

    def x_step(self, s: State, observed: Observation) -> State:
        """Update X and its auxiliary channels P, Eq. (14)."""
        R = observed.residual(s.X, s.A)
        X, P = self.prox_X(s.X + self.eta_X / STEP_SCALE * R, s.P)
        return s._replace(X=X, P=P)

    def _step_K(self, R: Tensor) -> Tensor | float:
        pixels = R.shape[-2] * R.shape[-1] * self._sharing()
        return 1.0 if self.finds_K else self.eta_K / (K_STEP_SCALE * pixels)

    def _sharing(self) -> int:
        return self.patches_per_pair if self.training else 1
