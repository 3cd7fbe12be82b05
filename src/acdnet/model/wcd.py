r"""The weighted convolutional dictionary model, Eq. (2): A = (D * K) (x) M, and its adjoints.

`(x)` is `torch.conv2d` with zero padding p // 2. The inner product <C (x) M, R> is linear in C, M and R; `synthesise`,
`analyse` and `lags` are its derivatives with respect to R, M and C.

Shapes: D is d x p x p, K is B x N x d, C is B x N x p x p, M is B x N x H x W, R and A are B x 1 x H x W.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F


def mix(D: Tensor, K: Tensor) -> Tensor:
    """Mix the dictionary: C = D * K, with C[b,n] = sum_i K[b,n,i] D[i]."""
    return torch.einsum("bni,ipq->bnpq", K, D)


def synthesise(C: Tensor, M: Tensor) -> Tensor:
    """Compute the artifact: C (x) M."""
    return _operators.synthesise(C, M)


def analyse(C: Tensor, R: Tensor) -> Tensor:
    """Apply the adjoint of `synthesise` in M: C (x)^T R."""
    return _operators.analyse(C, R)


def correlate(D: Tensor, M: Tensor, R: Tensor) -> Tensor:
    """Apply the adjoint of K -> (D * K) (x) M: the inner products <D[i] (x) M[b,n], R[b]>, B x N x d.

    They are the lags of M and R contracted with D; the N * d images D[i] (x) M[b,n] are never computed.
    """
    return torch.einsum("bnpq,ipq->bni", _operators.lags(M, R, D.shape[-1]), D)


class Operators(NamedTuple):
    """An implementation of the operators; `acdnet.fast.fft_wcd` has a faster one."""

    synthesise: Callable[[Tensor, Tensor], Tensor]
    analyse: Callable[[Tensor, Tensor], Tensor]
    lags: Callable[[Tensor, Tensor, int], Tensor]


def _synthesise(C: Tensor, M: Tensor) -> Tensor:
    """Compute C (x) M as a grouped convolution, one group per sample."""
    B, N, H, W = M.shape
    return F.conv2d(M.reshape(1, B * N, H, W), C, padding=C.shape[-1] // 2, groups=B).reshape(B, 1, H, W)


def _analyse(C: Tensor, R: Tensor) -> Tensor:
    """Compute C (x)^T R: the convolution with the flipped kernels."""
    B, N, p, _ = C.shape
    turned = C.flip(-2, -1).reshape(B * N, 1, p, p)
    _, _, H, W = R.shape
    return F.conv2d(R.reshape(1, B, H, W), turned, padding=p // 2, groups=B).reshape(B, N, H, W)


def _lags(M: Tensor, R: Tensor, p: int) -> Tensor:
    """Correlate M and R at p x p shifts: convolve the padded M with R as kernel; B x N x p x p."""
    padded = F.pad(M, (p // 2,) * 4).transpose(0, 1)
    return F.conv2d(padded, R, groups=R.shape[0]).transpose(0, 1)


PLAIN = Operators(_synthesise, _analyse, _lags)
"""The operators by direct convolution."""
_operators = PLAIN


def use(operators: Operators) -> Operators:
    """Set the operators of all networks of this process; return the previous ones."""
    global _operators
    before, _operators = _operators, operators
    return before


@contextmanager
def computed_by(operators: Operators) -> Iterator[None]:
    """Use other operators inside a `with` block."""
    before = use(operators)
    try:
        yield
    finally:
        use(before)
