"""The proximal networks."""

import torch

from acdnet.model.prox import ProxK, ProxM, ProxX


def test_K_has_rows_of_unit_norm_and_no_negative_entry() -> None:
    K = ProxK(3, 4)(torch.randn(2, 3, 4))
    assert (K >= 0).all()
    norms = K.norm(dim=-1)
    assert (((norms - 1).abs() < 1e-4) | (norms == 0)).all()


def test_a_row_of_zeros_stays_zero() -> None:
    prox = ProxK(3, 4)
    with torch.no_grad():
        for parameter in prox.parameters():
            parameter.zero_()
    assert (prox(torch.zeros(1, 3, 4)) == 0).all()


def test_M_is_thresholded() -> None:
    prox = ProxM(3, 1).eval()
    with torch.no_grad():
        prox.tau.fill_(1e6)
    assert (prox(torch.randn(1, 3, 13, 18)) == 0).all()


def test_X_and_its_channels_keep_their_shapes() -> None:
    X, P = ProxX(4, 1)(torch.randn(2, 1, 13, 18), torch.randn(2, 4, 13, 18))
    assert X.shape == (2, 1, 13, 18)
    assert P.shape == (2, 4, 13, 18)
