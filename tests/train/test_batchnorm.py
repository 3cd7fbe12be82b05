"""Recalibration and synchronisation of batch normalisation."""

import pytest
import torch
from torch import nn

from acdnet.train import batchnorm
from acdnet.train.batchnorm import recalibrate
from acdnet.train.distributed import SyncedBatchNorm2d
from tests.helpers import make_input, make_model


def test_statistics_are_the_mean_over_the_batches() -> None:
    norm = nn.BatchNorm2d(3)
    norm.running_mean = torch.full((3,), 99.0)
    batches = [torch.randn(4, 3, 5, 6) + k for k in range(3)]
    recalibrate(norm, [(batch,) for batch in batches])
    assert norm.running_mean is not None
    torch.testing.assert_close(norm.running_mean, torch.stack([b.mean(dim=(0, 2, 3)) for b in batches]).mean(0))
    assert norm.momentum == 0.1
    assert norm.training


def test_one_batch_makes_evaluation_agree_with_training() -> None:
    model = make_model()
    inputs = make_input(4, 24, 24)
    recalibrate(model, [inputs])
    assert not model.training
    with torch.no_grad():
        evaluated = model(*inputs).image
        trained = model.train()(*inputs).image
    torch.testing.assert_close(evaluated, trained, rtol=0.05, atol=1.0)


@pytest.mark.parametrize("kept", [True, False])
def test_only_running_statistics_are_synchronised(kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def network() -> nn.Sequential:
        return nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2, track_running_stats=kept))

    assert type(batchnorm.synchronised(network())[1]) is nn.BatchNorm2d  # one process
    monkeypatch.setattr(batchnorm, "ranks", lambda: 2)
    assert isinstance(batchnorm.synchronised(network())[1], SyncedBatchNorm2d) == kept
