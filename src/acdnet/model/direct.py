"""The operators of `acdnet.model.wcd` without FFTs.

Used where a graph has to be made of plain convolutions (export to ONNX), and by the tests as a second
statement of the same operators. Shapes as in `acdnet.model.wcd`.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def synthesise(C: Tensor, M: Tensor) -> Tensor:
    """Compute C (x) M as one grouped convolution, a group per sample."""
    B, N, H, W = M.shape
    return F.conv2d(M.reshape(1, B * N, H, W), C, padding=C.shape[-1] // 2, groups=B).reshape(B, 1, H, W)


def analyse(C: Tensor, R: Tensor) -> Tensor:
    """Compute C (x)^T R: the convolution with every kernel turned by half a turn."""
    B, N, p, _ = C.shape
    turned = C.flip(-2, -1).reshape(B * N, 1, p, p)
    _, _, H, W = R.shape
    return F.conv2d(R.reshape(1, B, H, W), turned, padding=p // 2, groups=B).reshape(B, N, H, W)


def lags(M: Tensor, R: Tensor, p: int) -> Tensor:
    """Correlate M and R at p x p shifts: the convolution of M, padded, with R as its kernel; B x N x p x p."""
    padded = F.pad(M, (p // 2,) * 4).transpose(0, 1)
    return F.conv2d(padded, R, groups=R.shape[0]).transpose(0, 1)
