from dataclasses import replace

import pytest
import torch

from acdnet.errors import ConfigError
from acdnet.model.loss import acdnet_loss
from acdnet.model.stage import Stage
from acdnet.model.start import Start
from acdnet.train.config import from_dict
from acdnet.train.tasks.acdnet import ACDNetTask
from tests.helpers import TINY, make_input, make_model


@pytest.mark.parametrize("order", ["KMX", "MKX"])
def test_patches_of_one_pair_share_k_in_training_only(order: str) -> None:
    model = make_model(replace(TINY, T=2, d=4, order=order)).train()
    for module in model.modules():
        if isinstance(module, Start | Stage):
            module.patches_per_pair = 2
    Y, X_li, I = make_input(4, 16, 18)
    with torch.no_grad():
        for K in model(Y, X_li, I, details=True).K:
            assert torch.equal(K[0], K[1])
            assert not torch.equal(K[1], K[2])
        alone = model.eval()(Y, X_li, I, details=True).K[-1]
    assert not torch.equal(alone[0], alone[1])


def test_a_batch_that_splits_the_patches_of_a_pair_is_refused() -> None:
    config = from_dict({"training": {"batch": 6, "patches_per_pair": 4}})
    with pytest.raises(ConfigError, match="must be a multiple"):
        ACDNetTask().check(config, 1)
    ACDNetTask().check(from_dict({"training": {"batch": 8, "patches_per_pair": 4}}), 2)


def test_relative_errors_and_weights_of_pixels() -> None:
    Y, X_li, I = make_input(2, 16, 18)
    X, network, task = 100 * torch.rand_like(Y), make_model(), ACDNetTask()
    model = {"architecture": "acdnet-s", "T": 2, "N": 2, "d": 3, "p": 3, "N_p": 2, "blocks": 1}
    config = from_dict({"model": model, "training": {"relative": True, "omega": 1.0, "patches": 1}})
    W = torch.where(torch.arange(18) < 9, 40.0, 1.0).expand_as(Y)
    with torch.no_grad():
        plain, all_equal, some = (
            task.loss(network, (Y, X_li, X, I, *w), config) for w in ((), (torch.full_like(Y, 7.0),), (W,))
        )
        expected = acdnet_loss(network(Y, X_li, I), Y, X, I, 1.0, relative=True)
    torch.testing.assert_close(torch.stack(plain.values), torch.stack(tuple(expected)))
    torch.testing.assert_close(torch.stack(all_equal.values), torch.stack(plain.values))
    assert not torch.allclose(some.total, plain.total)
    unset = from_dict({"model": model, "training": {"relative": True, "patches": 1}})
    with pytest.raises(ConfigError, match="omega"):
        task.check(unset.shared_by(1), 1)
