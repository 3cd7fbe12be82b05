"""Patches of one pair share its K, as the parts of a whole image do."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from acdnet.config import ACDNetConfig
from acdnet.data.pairs import open_pairs
from acdnet.errors import ConfigError
from acdnet.model.stage import Stage, shared
from acdnet.model.start import Start
from acdnet.train.config import from_dict
from acdnet.train.lessons.acdnet import ACDNetLesson
from acdnet.train.patches import Patches, Window
from tests.helpers import make_input, make_model
from tests.train.make import small_store


def test_correlations_are_those_of_the_whole() -> None:
    L = torch.randn(6, 2, 3)
    pooled = shared(L, 3)
    torch.testing.assert_close(pooled[0], L[:3].sum(0))
    torch.testing.assert_close(pooled[5], L[3:].sum(0))
    assert torch.equal(shared(L, 1), L)


@pytest.mark.parametrize("order", ["KMX", "MKX"])
def test_k_is_shared_in_training_alone(order: str) -> None:
    model = make_model(ACDNetConfig(T=2, N=2, d=4, p=3, N_p=2, blocks=1, order=order)).train()
    for module in model.modules():
        if isinstance(module, Start | Stage):
            module.together = 2
    Y, X_li, I = make_input(4, 16, 18)
    with torch.no_grad():
        for K in model(Y, X_li, I, details=True).K:
            assert torch.equal(K[0], K[1])
            assert not torch.equal(K[1], K[2])
        apart = model.eval()(Y, X_li, I, details=True).K[-1]
    assert not torch.equal(apart[0], apart[1])


def test_patches_come_from_one_pair(tmp_path: Path) -> None:
    sets = [open_pairs(small_store(tmp_path))]

    class Which(Patches):
        def example(self, which: int, index: int, window: Window) -> Tensor:  # noqa: ARG002
            return torch.tensor([[index, window.rows.start], [index, window.columns.start]])

    patches = Which(sets, 32, seed=1, focus=0.5, together=4)
    drawn = [sorted(patches[n].flatten().tolist()) for n in range(32)]
    assert sorted(patches[7].flatten().tolist()) == drawn[7]
    pairs = [set.intersection(*(set(one) for one in drawn[k : k + 4])) for k in range(0, 32, 4)]
    assert all(pairs)
    assert len(set.union(*pairs)) > 1


def test_a_batch_that_parts_them_is_refused() -> None:
    config = from_dict({"training": {"batch": 6, "together": 4}})
    with pytest.raises(ConfigError, match="no multiple"):
        ACDNetLesson().check(config, 1)
    ACDNetLesson().check(from_dict({"training": {"batch": 8, "together": 4}}), 2)


@pytest.mark.parametrize(("batch", "processes", "together"), [(8, 1, 4), (8, 4, 2), (6, 1, 2), (3, 1, 1), (1, 2, 1)])
def test_as_many_as_fit_unless_said(batch: int, processes: int, together: int) -> None:
    assert from_dict({"training": {"batch": batch}}).shared_by(processes).training.together == together
    said = from_dict({"training": {"batch": batch, "together": 7}}).shared_by(processes)
    assert said.training.together == 7
