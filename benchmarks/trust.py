"""Whether the expected error ranks pixels by their true error.

`python -m benchmarks.trust [STORE]` takes a store of `acdnet simulate --protocol clinical`, or makes one of phantoms.
`--fit` fits the weights of the expected error to the true one instead (`acdnet.methods.uncertainty`).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.stats import spearmanr

from acdnet.data.build import build
from acdnet.data.pairs import PairSet, open_pairs, some_of
from acdnet.data.recipe import Recipe
from acdnet.data.sources import open_source
from acdnet.evaluate.case import Case
from acdnet.methods.acdnet import ACDNetMethod
from acdnet.methods.hu_adapter import to_network
from acdnet.methods.registry import get_method
from acdnet.methods.uncertainty import signs

PHANTOMS, PAIRS = 24, 48
SAMPLE = 20_000
"""Pixels of the body that are compared in each pair."""
BODY_HU = -500.0


@contextmanager
def clinical_pairs(store: Path | None, phantoms: int = PHANTOMS) -> Iterator[PairSet]:
    """Open a store, or make one of phantoms."""
    with tempfile.TemporaryDirectory() as folder:
        if store is None:
            store = Path(folder) / "store"
            list(build(open_source("phantom", phantoms, seed=77), Recipe("clinical", pairs=2), store, 2))
        yield open_pairs(store)


def sample(case: Case, index: int) -> NDArray[np.intp]:
    """Return random pixels of the body outside the metal."""
    body = np.flatnonzero((case.pair.clean > BODY_HU) & ~case.pair.metal)
    return np.random.default_rng(index).permutation(body)[:SAMPLE]


def rank_correlations(pairs: PairSet, count: int = PAIRS, method: str = "acdnet") -> list[float]:
    """Return Spearman's rank correlation of expected and true error in the body, pair by pair."""
    network, ranks = get_method(method, "cpu"), []
    for index in some_of(len(pairs.infos()), count):
        case = Case.read(pairs, index)
        done, some = network(case.measurement()), sample(case, index)
        assert done.expected_error_hu is not None
        error = np.abs(done.image_hu - case.pair.clean)
        ranks.append(float(spearmanr(done.expected_error_hu.ravel()[some], error.ravel()[some]).statistic))
    return ranks


def describe(ranks: list[float]) -> str:
    """Say how large the rank correlations are."""
    least, mean = min(ranks), sum(ranks) / len(ranks)
    return f"Spearman's rank correlation over {len(ranks)} pairs: mean {mean:.2f}, least {least:.2f}."


def fit(pairs: PairSet, count: int, method: str) -> str:
    """Fit the expected error to the true one; return the weights."""
    network = get_method(method, "cpu")
    assert isinstance(network, ACDNetMethod)
    found, errors = [], []
    for index in some_of(len(pairs.infos()), count):
        case = Case.read(pairs, index)
        (done,), some = network.decompose([case.measurement()]), sample(case, index)
        assert done.decomposition is not None
        both = signs(done.decomposition, to_network(case.pair.corrupted), case.pair.metal)
        found.append(np.stack([np.ones(len(some)), *(sign.ravel()[some] for sign in both)], 1))
        errors.append(np.abs(done.image_hu - case.pair.clean).ravel()[some])
    A, error = np.concatenate(found), np.concatenate(errors)
    weight = 1 / (10 + A[:, 1:].sum(1))  # so that the few large errors do not decide alone
    shares, _ = nnls(A * weight[:, None], error * weight)
    return f"least {shares[0]:.2f} HU, residual x {shares[1]:.2f}, spread x {shares[2]:.2f}"


def main() -> None:
    """Print the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path, nargs="?")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--method", default="acdnet")
    parser.add_argument("--fit", action="store_true", help="fit the weights of the expected error instead")
    given = parser.parse_args()
    with clinical_pairs(given.store) as pairs:
        if given.fit:
            print(fit(pairs, given.pairs, given.method))
            return
        print(describe(rank_correlations(pairs, given.pairs, given.method)))


if __name__ == "__main__":
    main()
