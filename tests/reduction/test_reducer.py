from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from acdnet.baselines.method import method
from acdnet.config import ACDNetConfig
from acdnet.data.pairs import PairInfo
from acdnet.data.store import Pair
from acdnet.errors import ConfigError
from acdnet.evaluate.cases import Case
from acdnet.evaluate.contestants import contestant
from acdnet.reduction.reducer import make_reducer, reduce_slice
from acdnet.weights.save import save_model
from tests.helpers import make_model
from tests.reduction.make import body

SMALL = ACDNetConfig(T=1, N=2, d=3, p=3, N_p=2, blocks=1)


def changes(folder: Path, hu: NDArray[np.float32], spacing: tuple[float, float]) -> list[NDArray[np.float32]]:
    """Reduce a slice by one network, its image taken as it is and with what rays beside the metal get back."""
    found = []
    for last in ("none", "beside"):
        model = make_model(replace(SMALL, last=last))
        save_model(model, folder / f"{last}.safetensors", name=last, summary="for a test", overwrite=True)
        reducer = make_reducer("acdnet", str(folder / f"{last}.safetensors"))
        found.append(reduce_slice(reducer, hu, hu > 2000, spacing).change)
    return found


@pytest.mark.parametrize(("rows", "spacing"), [(64, (0.9, 0.9)), (60, (0.9, 0.9)), (64, (0.9, 1.2))])
def test_less_is_changed_where_rays_beside_the_metal_tell(
    tmp_path: Path, rows: int, spacing: tuple[float, float]
) -> None:
    hu = body()[:rows]
    alone, beside = changes(tmp_path, hu, spacing)
    assert np.abs(beside).mean() < 0.97 * np.abs(alone).mean()  # limited: a random network takes a lot
    assert (beside[hu > 2000] == 0).all()


def test_no_line_of_air_at_the_edge_of_pixels_that_are_not_square(tmp_path: Path) -> None:
    """Rounding puts the first column of this grid a hair outside the square."""
    hu = np.zeros((161, 324), np.float32)
    hu[80:84, 160:164] = 3000
    _, beside = changes(tmp_path, hu, (1.278746, 0.8435))
    assert np.abs(beside[:, 0]).max() < 300


def test_evaluation_scores_what_reduce_makes(tmp_path: Path) -> None:
    hu = body()
    _, beside = changes(tmp_path, hu, (0.9, 0.9))
    case = Case(PairInfo("a", "a", "", None), Pair(hu, hu, hu, hu > 2000), "clinical", 0.9, None)
    case = replace(case, pair=replace(case.pair, li=method("li")(case.measured)))
    scored = contestant(str(tmp_path / "beside.safetensors")).run(case)
    alone = contestant(str(tmp_path / "none.safetensors")).run(case)
    assert np.abs(scored - alone).max() > 1
    tissue = (hu < 2000) & (hu > -900)
    np.testing.assert_allclose((hu + beside)[tissue], scored[tissue], atol=0.1)


@pytest.mark.parametrize("kind", ["cnnmar", "dudonet", "dscmar", "dudonet++"])
def test_rivals_have_a_shipped_model(kind: str) -> None:
    reducer = make_reducer(kind)
    assert kind in reducer.label.lower()


def test_the_name_of_a_model_is_answered_with_its_method() -> None:
    with pytest.raises(ConfigError, match=r"--method acdnet --model benchmark-s$"):
        make_reducer("benchmark-s")
