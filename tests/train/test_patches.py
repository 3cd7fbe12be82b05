from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from acdnet.data.pairs import StorePairs, open_pairs
from acdnet.data.recipe import Recipe
from acdnet.errors import InputRefused
from acdnet.train.batches import Batches
from acdnet.train.patches import Patches, Window
from acdnet.train.tasks.acdnet import ACDNetTask
from tests.data.make import small_store

COLLATE = ACDNetTask().collate


@pytest.fixture(scope="module")
def patches(sinogram_store: Path) -> Patches:
    return Patches([open_pairs(sinogram_store)], 32, seed=1, hard_patch_share=0.5)


def test_a_patch_depends_on_seed_and_number_alone(patches: Patches) -> None:
    assert torch.equal(patches[5], Patches(patches.sets, 32, seed=1, hard_patch_share=0.5)[5])
    assert not torch.equal(patches[5], patches[6])
    assert not torch.equal(patches[5], Patches(patches.sets, 32, seed=2, hard_patch_share=0.5)[5])


def test_patches_are_in_network_units(patches: Patches) -> None:
    for n in range(6):
        Y, X_li, X, I = patches[n]
        assert Y.shape == (32, 32)
        assert ((X >= 0) & (X <= 255)).all()
        assert set(I.unique().tolist()) <= {0.0, 1.0}
        assert X.mean() > 4
        assert torch.isfinite(X_li).all()


def test_the_first_image_is_that_of_the_network(patches: Patches, tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match="--tracefit"):
        Patches(patches.sets, 32, seed=1, first="tracefit")[0]
    sets = [open_pairs(small_store(tmp_path, 2, recipe=Recipe("clinical", pairs=1, size=96, tracefit=True)))]
    assert isinstance(sets[0], StorePairs)
    whole = sets[0].read(0)
    assert whole.tracefit is not None
    li, fitted = (Patches(sets, 96, seed=1, first=name)[0] for name in ("li", "tracefit"))
    assert [n for n in range(4) if not torch.equal(li[n], fitted[n])] == [1]


def test_hard_patches_have_strong_artifacts(patches: Patches) -> None:
    def strength(hard_patch_share: float) -> float:
        drawn = Patches(patches.sets, 32, seed=3, hard_patch_share=hard_patch_share)
        return float(np.mean([((Y - X) * I).abs().mean() for Y, _, X, I in (drawn[n] for n in range(40))]))

    assert strength(1.0) > 1.1 * strength(0.0)


def test_ranks_share_a_batch(patches: Patches) -> None:
    whole = next(iter(Batches(patches, COLLATE, 4)))
    halves = [next(iter(Batches(patches, COLLATE, 4, rank=rank, ranks=2))) for rank in (0, 1)]
    for n, part in enumerate(whole):
        assert torch.equal(part, torch.cat([halves[0][n], halves[1][n]]))
    with pytest.raises(InputRefused, match="evenly"):
        Batches(patches, COLLATE, 5, ranks=2)


def test_a_run_can_be_resumed_anywhere(patches: Patches) -> None:
    third = list(islice(Batches(patches, COLLATE, 2, loaders=2), 3))[2]
    again = next(iter(Batches(patches, COLLATE, 2, first=2)))
    assert all(torch.equal(a, b) for a, b in zip(third, again, strict=True))


def test_patches_larger_than_slices_are_refused(patches: Patches) -> None:
    with pytest.raises(InputRefused, match="smaller than a patch"):
        Patches(patches.sets, 500, seed=0)


def test_an_error_while_reading_is_seen(patches: Patches, tmp_path: Path) -> None:
    store = open_pairs(small_store(tmp_path))
    for file in (store.folder / "slices").iterdir():
        file.unlink()
    with pytest.raises(InputRefused, match="misses"):
        next(iter(Batches(Patches([store], 32, 0), COLLATE, 2)))


def test_patches_come_from_one_pair(patches: Patches) -> None:
    class Which(Patches):
        def example(self, which: int, index: int, window: Window) -> Tensor:  # noqa: ARG002
            return torch.tensor([[index, window.rows.start], [index, window.columns.start]])

    which = Which(patches.sets, 32, seed=1, hard_patch_share=0.5, patches_per_pair=4)
    drawn = [sorted(which[n].flatten().tolist()) for n in range(32)]
    assert sorted(which[7].flatten().tolist()) == drawn[7]
    pairs = [set.intersection(*(set(one) for one in drawn[k : k + 4])) for k in range(0, 32, 4)]
    assert all(pairs)
    assert len(set.union(*pairs)) > 1
