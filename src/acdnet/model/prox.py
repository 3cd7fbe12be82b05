"""The proximal operators of Eqs. (10), (12) and (14), each learned as a small residual network (Sec. 3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from acdnet.model.residual import Trunk

ROW_NORM_FLOOR = 1e-6
"""Added to the norms of the rows of K, so that a row of zeros stays zero instead of NaN."""

M_THRESHOLD = 0.5
"""Initial thresholds of M: small compared with artifacts of tens of network units."""


class ProxX(nn.Module):
    """prox of gamma eta_3 f_3: the learned prior of clean images, with N_p auxiliary channels P."""

    def __init__(self, N_p: int, blocks: int, coarse: int = 0) -> None:
        super().__init__()
        self.trunk = Trunk(1 + N_p, blocks, coarse)

    def forward(self, X: Tensor, P: Tensor) -> tuple[Tensor, Tensor]:
        out = self.trunk(torch.cat((X, P), dim=1))
        return out[:, :1].clone(), out[:, 1:]  # a copy, so that keeping X does not keep all channels


class ProxM(nn.Module):
    """prox of beta eta_2 f_2: the learned prior of the maps, then a threshold per map."""

    def __init__(self, N: int, blocks: int) -> None:
        super().__init__()
        self.trunk = Trunk(N, blocks)
        self.tau = nn.Parameter(torch.full((N, 1, 1), M_THRESHOLD))

    def forward(self, M: Tensor) -> Tensor:
        return F.relu(self.trunk(M) - self.tau)


class ProxK(nn.Module):
    """prox of alpha eta_1 f_1, with rows of unit norm (the set Omega of Eq. 7)."""

    def __init__(self, N: int, d: int) -> None:
        super().__init__()
        self.linear1 = nn.Linear(N * d, N * d)
        self.linear2 = nn.Linear(N * d, N * d)

    def forward(self, K: Tensor) -> Tensor:
        k = K.flatten(1)
        k = F.relu(k + self.linear2(F.relu(self.linear1(k))))
        return _unit_rows(k.view_as(K))


def _unit_rows(K: Tensor) -> Tensor:
    norms: Tensor = torch.linalg.vector_norm(K, dim=-1, keepdim=True)
    return K / (norms + ROW_NORM_FLOOR)
