"""The start of the iteration: X, P, M (and K, if the order does not start with it), as in the supplement.

Without K, and with a small dictionary D0 of one kernel per map, the start solves
min || I . (Y - X - D0 (x) M) ||^2 by two rounds of the same proximal steps.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from acdnet.config import ACDNetConfig
from acdnet.model.prox import ProxK, ProxM, ProxX
from acdnet.model.stage import DICTIONARY_SCALE, ETA_M, ETA_X, STEP_SCALE, Observation, State, shared
from acdnet.model.wcd import analyse, correlate, mix, synthesise

NOISE_FLOOR = 1.0
"""Initial tau: differences Y - X below one network unit (about 20 HU) are noise, not artifact."""


class Started(NamedTuple):
    """The initial state of the stages, and the intermediate results that the loss supervises."""

    state: State
    first_image: Tensor
    """X^(0): the corrected image before any artifact is modelled."""
    images: tuple[Tensor, Tensor]
    artifacts: tuple[Tensor, Tensor]


class Start(nn.Module):
    """Initialise X and P from X_LI, and M from Y - X."""

    def __init__(self, config: ACDNetConfig, dictionary: Tensor) -> None:
        super().__init__()
        N, N_p, blocks, coarse = config.N, config.N_p, config.blocks, config.coarse
        self.D0 = nn.Parameter(dictionary[:N].clone())
        self.C_p = nn.Parameter(torch.full((N_p, 1, 3, 3), 1 / 9))
        self.tau = nn.Parameter(torch.tensor(NOISE_FLOOR))
        self.eta_M = nn.Parameter(torch.tensor(ETA_M))
        self.eta_X = nn.Parameter(torch.tensor([ETA_X, ETA_X]))
        self.V1 = nn.Parameter(torch.eye(N))
        self.V2 = nn.Parameter(torch.eye(N))
        self.prox_X0 = ProxX(N_p, blocks, coarse)
        self.prox_X = nn.ModuleList(ProxX(N_p, blocks, coarse) for _ in range(2))
        self.prox_M = nn.ModuleList(ProxM(N, blocks) for _ in range(2))
        self.patches_per_pair = 1
        self.prox_K = None if config.order.startswith("K") else ProxK(N, config.d)

    def forward(self, D: Tensor, X_li: Tensor, observed: Observation) -> Started:
        D0 = (self.D0 / DICTIONARY_SCALE).expand(X_li.shape[0], -1, -1, -1)
        nothing = torch.zeros_like(X_li)

        X0, P = self.prox_X0(X_li, F.conv2d(X_li, self.C_p, padding=1))

        M = self.prox_M[0](analyse(D0, F.relu(observed.residual(X0, nothing) - self.tau)))
        A1 = synthesise(D0, M)
        X1, P = self.prox_X[0](X0 + self.eta_X[0] / STEP_SCALE * observed.residual(X0, A1), P)

        M = self.prox_M[1](M + self.eta_M / STEP_SCALE * analyse(D0, observed.residual(X1, A1)))
        A2 = synthesise(D0, M)
        X2, P = self.prox_X[1](X1 + self.eta_X[1] / STEP_SCALE * observed.residual(X1, A2), P)

        M = torch.einsum("mn,bnhw->bmhw", self.V2 @ self.V1, F.relu(M))
        K, A = self._first_K(D, M, X2, observed)
        return Started(State(K, M, X2, P, A), X0, (X1, X2), (A1, A2))

    def _first_K(self, D: Tensor, M: Tensor, X: Tensor, observed: Observation) -> tuple[Tensor, Tensor]:
        """Return K = 0 and A = 0 if the first stage starts with K; otherwise find K^(0) and its A."""
        if self.prox_K is None:
            return D.new_zeros(M.shape[0], M.shape[1], D.shape[0]), torch.zeros_like(X)
        L = correlate(D, M, observed.residual(X, torch.zeros_like(X)))
        K = self.prox_K(shared(L, self.patches_per_pair if self.training else 1))
        return K, synthesise(mix(D, K), M)
