"""Eq. (15) stated directly."""

import pytest
import torch
from torch import Tensor

from acdnet.model.acdnet import Decomposition
from acdnet.model.loss import L1_WEIGHT, acdnet_loss
from tests.helpers import SMALL, make_input, make_model


def decomposed() -> tuple[Decomposition, Tensor, Tensor, Tensor]:
    Y, X_li, I = make_input(1, 16, 16)
    with torch.no_grad():
        result = make_model()(Y, X_li, I)
    return result, Y, 100 * torch.rand_like(Y), I


def test_weight_of_the_absolute_terms() -> None:
    assert pytest.approx(5e-4 * 32 * 64 * 64) == L1_WEIGHT


def test_equals_the_published_sums_for_the_published_batch_and_is_independent_of_its_size() -> None:
    model = make_model()
    Y, X_li, I = make_input(2, 16, 16)
    X = 100 * torch.rand_like(Y)
    with torch.no_grad():
        r = model(Y, X_li, I)
    loss = acdnet_loss(r, Y, X, I)
    pixels = Y.numel()
    scale = 32 * 64 * 64 / pixels  # what a published batch has more of
    T = SMALL.T
    l2 = l1 = artifact = torch.zeros(())
    A_true = I * (Y - X)
    for mu, image in [(0.1, x) for x in r.images] + [
        (1.0, r.image),
        (0.1, r.start_images[0]),
        (1.0, r.start_images[1]),
    ]:
        l2 = l2 + mu * ((I * (X - image)) ** 2).sum() / pixels
        l1 = l1 + 5e-4 * mu * (I * (X - image)).abs().sum() * scale
    terms = [(0.1, a) for a in r.artifacts] + [(1.0, r.artifacts[T - 1])]
    for mu, a in [*terms, (0.1, r.start_artifacts[0]), (1.0, r.start_artifacts[1])]:
        artifact = artifact + 5e-4 * mu * (A_true - I * a).abs().sum() * scale
    torch.testing.assert_close(loss.image_l2, l2)
    torch.testing.assert_close(loss.image_l1, l1)
    torch.testing.assert_close(loss.artifact_l1, artifact)
    torch.testing.assert_close(loss.total, l2 + l1 + artifact)
    with torch.no_grad():
        YY, LL, XX, II = (torch.cat((x, x)) for x in (Y, X_li, X, I))
        twice = acdnet_loss(model(YY, LL, II), YY, XX, II)
    torch.testing.assert_close(twice.total, loss.total)


def test_nothing_under_the_metal_counts() -> None:
    r, Y, X, I = decomposed()
    hidden = torch.where(I, X, float("nan"))
    assert torch.equal(acdnet_loss(r, Y, X, I).total, acdnet_loss(r, Y, hidden, I).total)


def test_pixels_can_be_weighted() -> None:
    r, Y, X, I = decomposed()
    plain, left, right = (
        acdnet_loss(r, Y, X, I, 2.0, W)
        for W in (None, (torch.arange(16) < 8).float().expand_as(Y), (torch.arange(16) >= 8).float().expand_as(Y))
    )
    for whole, one, other in zip(plain, left, right, strict=True):
        assert one > 0
        torch.testing.assert_close(one + other, whole)


def test_relative_errors_of_weak_and_of_strong_artifacts_count_alike() -> None:
    """Two patches, one thirty times as far off as the other: halving either error takes the same from the loss."""
    torch.manual_seed(0)
    X, I = 100 * torch.rand(2, 1, 16, 16), torch.ones(2, 1, 16, 16)
    Y, off = X + 50, torch.randn(2, 1, 16, 16)

    def lost(relative: bool, *halved: float) -> Tensor:
        def found(weak: float, strong: float) -> Decomposition:
            image = X + off * torch.tensor([30 * weak, 900 * strong]).reshape(2, 1, 1, 1)
            A = Y - image
            return Decomposition(image, (image, image), (A,), (image, image), (A, A))

        before, after = (
            acdnet_loss(found(*shares), Y, X, I, 2.0, relative=relative).total for shares in ((1.0, 1.0), halved)
        )
        return before - after

    torch.testing.assert_close(lost(True, 0.5, 1.0), lost(True, 1.0, 0.5), rtol=0.02, atol=0.0)
    assert lost(False, 1.0, 0.5) > 30 * lost(False, 0.5, 1.0) > 0


def test_a_small_network_learns_one_pair() -> None:
    """Training mode, loss and gradients together: the error falls to a tenth."""
    torch.manual_seed(0)
    model = make_model().train()
    y, x = torch.meshgrid(torch.linspace(-1, 1, 24), torch.linspace(-1, 1, 20), indexing="ij")
    X = torch.where(x**2 + y**2 < 0.7, 50.0, 5.0)[None, None]
    Y = X + 15 * torch.sin(12 * x + 5 * y)
    X_li, I = X + 6 * torch.cos(9 * y), torch.ones_like(X)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(120):
        loss = acdnet_loss(model(Y, X_li, I), Y, X, I).total
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]


def test_earlier_stages_can_be_weighted_less() -> None:
    r, Y, X, I = decomposed()
    last, half, usual = (acdnet_loss(r, Y, X, I, 2.0, mu=mu) for mu in (0.0, 0.05, 0.1))
    torch.testing.assert_close(last.image_l2, (I * (X - r.image)).square().mean())
    torch.testing.assert_close(last.artifact_l1, 2.0 * (I * (Y - X - r.artifacts[-1])).abs().mean())
    torch.testing.assert_close(2 * half.total, last.total + usual.total)
