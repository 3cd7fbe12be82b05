"""Muon: orthogonal steps for convolutions, Adam's for the rest."""

from pathlib import Path

import pytest
import torch
from torch import nn

from acdnet.train.checkpoint import load_checkpoint
from acdnet.train.loop import train
from acdnet.train.muon import MOMENTUM, SHARE, Muon, is_mixing, orthogonal
from tests.train.make import same, small_config, stopped_and_resumed


def test_the_nearest_orthogonal_matrix_of_wide_and_tall_matrices() -> None:
    torch.manual_seed(0)
    for shape in ((6, 54), (54, 6), (8, 24)):
        G = torch.randn(shape)
        U, _, V = torch.linalg.svd(G, full_matrices=False)
        found = orthogonal(G)
        along = torch.linalg.svdvals(found)
        assert along.min() > 0.5  # the published polynomial comes close to 1
        assert along.max() < 1.3
        assert torch.nn.functional.cosine_similarity(found.flatten(), (U @ V).flatten(), dim=0) > 0.97


def test_weak_and_strong_directions_of_the_gradient_move_alike() -> None:
    """A convolution in which one weight has 100 times the gradient of another."""
    conv = nn.Conv2d(2, 2, 1, bias=False)
    before = conv.weight.detach().clone()
    conv.weight.grad = torch.diag(torch.tensor([1.0, 0.01])).reshape(2, 2, 1, 1)
    Muon(conv.parameters(), lr=0.1, betas=(0.5, 0.999)).step()
    moved = (before - conv.weight.detach()).flatten(1)
    assert moved[0, 0] > 0
    assert moved[1, 1] > 0.3 * moved[0, 0]
    assert moved[0, 0] < 2 * 0.1 * SHARE * 2**0.5


def test_steps_equal_those_of_torch_for_matrices() -> None:
    """Torch computes with shorter numbers, has half the share, and accepts matrices only."""
    torch.manual_seed(0)
    ours = nn.Parameter(torch.randn(6, 4, 3, 3))
    theirs = nn.Parameter(ours.detach().flatten(1).clone())
    muon = Muon([ours], lr=0.01, betas=(0.5, 0.999))
    torchs = torch.optim.Muon(
        [theirs], lr=0.01 * SHARE / 0.2, momentum=MOMENTUM, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"
    )
    for _ in range(4):
        ours.grad = torch.randn_like(ours)
        theirs.grad = ours.grad.flatten(1).clone()
        muon.step()
        torchs.step()
    torch.testing.assert_close(ours.flatten(1), theirs, rtol=0.0, atol=5e-4)


def test_other_weights_are_updated_by_adam() -> None:
    torch.manual_seed(0)
    ours = [nn.Parameter(torch.randn(shape)) for shape in ((5,), (4, 3), (7, 1, 3, 3))]
    theirs = [nn.Parameter(p.detach().clone()) for p in ours]
    assert not any(map(is_mixing, ours))
    muon, adam = Muon(ours, lr=0.01, betas=(0.5, 0.999)), torch.optim.Adam(theirs, lr=0.01, betas=(0.5, 0.999))
    for _ in range(5):
        for mine, other in zip(ours, theirs, strict=True):
            mine.grad = torch.randn_like(mine)
            other.grad = mine.grad.clone()
        muon.step()
        adam.step()
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other)


def test_a_resumed_run_equals_one_that_was_not_stopped(
    sinogram_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, parted = (small_config(sinogram_store, tmp_path / name, optimiser="muon") for name in ("whole", "parted"))
    train(whole, resume=False)
    stopped_and_resumed(parted, monkeypatch)
    one, other = (load_checkpoint(tmp_path / name)[0] for name in ("whole", "parted"))
    assert same(one["model"], other["model"])
    kept = [set(state) for state in one["optimiser"]["state"].values()]
    assert {"mean"} in kept  # of convolutions; Adam keeps more
    assert {"step", "mean", "square"} in kept
