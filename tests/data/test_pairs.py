from pathlib import Path

import numpy as np
import pytest

from acdnet.data.pairs import BenchmarkPairs, StorePairs, check_apart, open_pairs
from acdnet.data.recipe import Recipe
from acdnet.errors import InputRefused
from tests.data.make import small_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_store(tmp_path_factory.mktemp("pairs"), 10)


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_store(tmp_path_factory.mktemp("pairs"), 2, recipe=Recipe(pairs=2, size=64, layout="benchmark"))


def test_splits_of_a_store(store: Path) -> None:
    everything, train = open_pairs(store), open_pairs(store, ("train",))
    assert len(everything.infos()) == 10
    assert len(train.infos()) == 8
    assert {info.split for info in train.infos()} == {"train"}
    assert all(info.metal_pixels for info in train.infos())
    with pytest.raises(InputRefused, match="no split 'x'"):
        StorePairs(store, ("x",))


def test_benchmark_folders_are_read(benchmark: Path) -> None:
    pairs = open_pairs(benchmark)
    assert isinstance(pairs, BenchmarkPairs)
    assert len(pairs.infos()) == 4
    assert pairs.size == 64
    part, whole = pairs.read(1, slice(3, 20), slice(5, 30)), pairs.read(1)
    assert np.array_equal(part.corrupted, whole.corrupted[3:20, 5:30])
    assert np.array_equal(part.metal, whole.metal[3:20, 5:30])
    sinogram = pairs.sinogram(0)
    assert sinogram is not None
    assert sinogram.shape == (640, 641)


def test_published_pairs(shared: Path) -> None:
    pairs = open_pairs(shared / "reference/syndeeplesion")
    assert [info.patient for info in pairs.infos()] == ["000195", "000321", "000321"]
    assert pairs.read(2).metal.sum() == 890


def test_f52_a_patient_in_training_and_validation_is_refused(store: Path) -> None:
    train, val, everything = (open_pairs(store, splits) for splits in (("train",), ("val",), ()))
    check_apart([train], [val])
    with pytest.raises(InputRefused, match="also in the training data"):
        check_apart([train], [everything])


def test_an_empty_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("a/gt.h5\n")
    with pytest.raises(InputRefused, match="contains no slice"):
        open_pairs(tmp_path)
