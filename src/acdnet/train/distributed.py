"""Training by several processes: their number, and batch normalisation over all of them."""

from __future__ import annotations

import torch
from torch import Tensor, distributed, nn
from torch.distributed.nn.functional import all_reduce


def ranks() -> int:
    """Return the number of processes that train together."""
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_world_size()
    return 1


class SyncedBatchNorm2d(nn.BatchNorm2d):
    """Batch normalisation over the batches of all processes; unlike `nn.SyncBatchNorm` it works on CPUs, too."""

    def __init__(self, norm: nn.BatchNorm2d) -> None:
        nn.Module.__init__(self)
        self.__dict__.update(norm.__dict__)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return super().forward(x)
        mean = _mean_over_ranks(x.mean((0, 2, 3)))
        var = _mean_over_ranks((x - mean[:, None, None]).square().mean((0, 2, 3)))
        self._update(mean.detach(), var.detach(), ranks() * x.numel() // x.shape[1])
        scale = self.weight * (var + self.eps).rsqrt()
        return x * scale[:, None, None] + (self.bias - mean * scale)[:, None, None]

    @torch.no_grad()
    def _update(self, mean: Tensor, var: Tensor, pixels: int) -> None:
        """Update the running statistics as torch does."""
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        assert self.momentum is not None
        self.running_mean.lerp_(mean, self.momentum)
        self.running_var.lerp_(var * (pixels / max(1, pixels - 1)), self.momentum)
        self.num_batches_tracked += 1


def _mean_over_ranks(values: Tensor) -> Tensor:
    total: Tensor = all_reduce(values)
    return total / ranks()
