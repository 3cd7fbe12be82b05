"""ACDNet as the formulas are written down, for comparison only: nothing folded, nothing fused.

Every product D^[i] (x) M[n] is built (N * d maps a stage), convolutions are grouped convolutions in the
default memory layout, batch normalisation stays a layer of its own. The attribute names are those of a
published checkpoint, so that the very same weights can be loaded here and into `acdnet.model`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def residual_blocks(channels: int, blocks: int) -> nn.ModuleList:
    """Build the convolutional trunk of a proximal network."""
    return nn.ModuleList(
        nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.BatchNorm2d(channels),
        )
        for _ in range(blocks)
    )


class LiteralProxX(nn.Module):
    """Residual blocks on the image and its auxiliary channels."""

    def __init__(self, channels: int, blocks: int) -> None:
        super().__init__()
        self.layer = residual_blocks(channels, blocks)

    def forward(self, x: Tensor) -> Tensor:
        for f in self.layer:
            x = F.relu(x + f(x))
        return x


class LiteralProxM(LiteralProxX):
    """Residual blocks on the maps, then a threshold per channel."""

    def __init__(self, channels: int, blocks: int) -> None:
        super().__init__(channels, blocks)
        self.tau = nn.Parameter(torch.full((1, channels, 1, 1), 0.5))

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(super().forward(x) - self.tau)


class LiteralProxK(nn.Module):
    """Two linear layers round a skip connection, then rows of unit norm."""

    def __init__(self, N: int, d: int) -> None:
        super().__init__()
        width = N * d
        self.layer = nn.ModuleList([nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))])
        self.tau = nn.Parameter(torch.zeros(1, N, d))  # in published checkpoints, without a use

    def forward(self, K: Tensor) -> Tensor:
        flat = K.flatten(1)
        out = F.relu(flat + self.layer[0](flat)).view_as(K)
        norms: Tensor = out.norm(dim=2, keepdim=True)
        return out / (norms + 1e-6)


class LiteralACDNet(nn.Module):
    """The network of the paper in the published formulation; `forward` returns (images, artifacts)."""

    def __init__(self, T: int = 10, N: int = 6, d: int = 32, p: int = 9, N_p: int = 32, blocks: int = 3) -> None:
        super().__init__()
        self.T, self.pad = T, p // 2
        self.D = nn.Parameter(torch.rand(1, d, p, p))
        self.D0 = nn.Parameter(torch.rand(1, N, p, p))
        self.Cp = nn.Parameter(torch.full((N_p, 1, 3, 3), 1 / 9))
        self.eta1_T = nn.Parameter(torch.full((T, 1), 1.0))
        self.eta2_T = nn.Parameter(torch.full((T, 1), 5.0))
        self.eta3_T = nn.Parameter(torch.full((T, 1), 5.0))
        self.etaX_nonK = nn.Parameter(torch.full((2, 1), 5.0))
        self.etaM_nonK = nn.Parameter(torch.full((1, 1), 1.0))
        self.tau = nn.Parameter(torch.ones(1))
        self.tau_extend = nn.Parameter(torch.ones(1))  # in published checkpoints, without a use
        self.convert_conv_layer1 = nn.Parameter(torch.eye(N).view(N, N, 1, 1))
        self.convert_conv_layer2 = nn.Parameter(torch.eye(N).view(N, N, 1, 1))
        self.proxNet_X_0 = LiteralProxX(1 + N_p, blocks)
        self.proxNet_X_init = nn.ModuleList(LiteralProxX(1 + N_p, blocks) for _ in range(2))
        self.proxNet_X_T = nn.ModuleList(LiteralProxX(1 + N_p, blocks) for _ in range(T))
        self.proxNet_X_last_layer = LiteralProxX(1 + N_p, blocks)
        self.proxNet_M_init = nn.ModuleList(LiteralProxM(N, blocks) for _ in range(2))
        self.proxNet_M_T = nn.ModuleList(LiteralProxM(N, blocks) for _ in range(T))
        self.proxNet_K_T = nn.ModuleList(LiteralProxK(N, d) for _ in range(T))

    def every_product(self, M: Tensor) -> Tensor:
        """Convolve every map with every filter of the dictionary: B x N x d x H x W."""
        B, N, H, W = M.shape
        d = self.D.shape[1]
        filters = (self.D / 10).view(d, 1, *self.D.shape[2:])
        return F.conv2d(M.reshape(B * N, 1, H, W), filters, padding=self.pad).view(B, N, d, H, W)

    def correlate(self, M: Tensor, R: Tensor) -> Tensor:
        """Take the inner product of every product with the residual: B x N x d."""
        return (self.every_product(M) * R[:, :, None]).sum(dim=(3, 4))

    def kernels(self, K: Tensor) -> Tensor:
        """Mix the dictionary by the weights: B x N x p x p."""
        return (K[..., None, None] * (self.D / 10)[:, None]).sum(dim=2)

    def synthesise(self, C: Tensor, M: Tensor) -> Tensor:
        """Sum the maps convolved with the kernels of their own sample."""
        B, N, H, W = M.shape
        return F.conv2d(M.reshape(1, B * N, H, W), C, padding=self.pad, groups=B).view(B, 1, H, W)

    def analyse(self, C: Tensor, R: Tensor) -> Tensor:
        """Apply the transposed convolution, sample by sample."""
        B, _, H, W = R.shape
        return F.conv_transpose2d(R.reshape(1, B, H, W), C, padding=self.pad, groups=B).view(B, -1, H, W)

    def forward(self, Y: Tensor, X_li: Tensor, I: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        B = Y.shape[0]

        def x_step(net: nn.Module, eta: Tensor, X: Tensor, P: Tensor, A: Tensor) -> tuple[Tensor, Tensor]:
            X_half = X - eta / 10 * I * (X - (Y - A))
            out = net(torch.cat((X_half, P), dim=1))
            return out[:, :1], out[:, 1:]

        out = self.proxNet_X_0(torch.cat((X_li, F.conv2d(X_li, self.Cp, padding=1)), dim=1))
        X, P = out[:, :1], out[:, 1:]
        images = [X]
        D0 = (self.D0 / 10).expand(B, -1, -1, -1)
        M = self.proxNet_M_init[0](self.analyse(D0, F.relu(I * (Y - X) - self.tau)))
        A = self.synthesise(D0, M)
        X, P = x_step(self.proxNet_X_init[0], self.etaX_nonK[0], X, P, A)
        M = self.proxNet_M_init[1](M - self.etaM_nonK[0] / 10 * self.analyse(D0, I * (A - (Y - X))))
        A = self.synthesise(D0, M)
        X, P = x_step(self.proxNet_X_init[1], self.etaX_nonK[1], X, P, A)
        M = F.conv2d(F.conv2d(F.relu(M), self.convert_conv_layer1), self.convert_conv_layer2)

        artifacts: list[Tensor] = []
        K = M.new_zeros(0)
        for t in range(self.T):
            if t == 0:
                K = self.proxNet_K_T[t](self.correlate(M, I * (Y - X)))
            else:
                step = self.eta3_T[t] / 50 / (Y.shape[2] * Y.shape[3])
                K = self.proxNet_K_T[t](K + step * self.correlate(M, I * (Y - X - A)))
            C = self.kernels(K)
            R = I * (Y - X - self.synthesise(C, M))
            M = self.proxNet_M_T[t](M + self.eta1_T[t] / 10 * self.analyse(C, R))
            A = self.synthesise(C, M)
            artifacts.append(A)
            X, P = x_step(self.proxNet_X_T[t], self.eta2_T[t], X, P, A)
            images.append(X)
        images.append(self.proxNet_X_last_layer(torch.cat((X, P), dim=1))[:, :1])
        return images, artifacts
