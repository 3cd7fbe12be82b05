from pathlib import Path

import numpy as np
import pytest

from acdnet.data.pairs import open_pairs
from acdnet.errors import InputRefused
from acdnet.evaluate.entrants import get_entrants
from acdnet.evaluate.report import latex, markdown
from acdnet.evaluate.run import Evaluation, evaluate
from acdnet.evaluate.tables import all_tables
from acdnet.physics.measurement import Measurement
from tests.evaluate.make import Stub


@pytest.mark.parametrize("protocol", ["benchmark", "clinical"])
def test_all_methods_on_a_store(protocol: str, request: pytest.FixtureRequest) -> None:
    pairs = open_pairs(request.getfixturevalue(f"{protocol}_store"))
    evaluation = Evaluation(get_entrants(["input", "li", "bhc", "nmar", "acdnet"]))
    assert list(evaluate(pairs, evaluation, count=3)) == [1, 2, 3]
    assert len(evaluation.results) == 15
    assert [one.label for one in evaluation.methods] == ["Input", "LI", "BHC", "NMAR", "ACDNet"]
    sheets = all_tables(evaluation, [])
    titles = [sheet.title for sheet in sheets]
    assert titles[:4] == [f"By metal size ({name})" for name in ("window", "paper", "hu", "soft")]
    assert ("Needless changes" in titles) == (protocol == "clinical")
    for sheet in sheets:
        assert all(len(row) == len(sheet.columns) for row in sheet.rows)
        assert sheet.rows[0][0] in markdown(sheet)
        assert "nan" not in markdown(sheet)
        assert r"\toprule" in latex(sheet)


def test_results_that_are_not_finite_are_refused(clinical_store: Path) -> None:
    broken = Stub("broken", lambda one: np.full_like(one.slice_hu, np.nan))
    with pytest.raises(InputRefused, match="the result of broken contains values that are not finite"):
        list(evaluate(open_pairs(clinical_store), Evaluation([broken]), count=1))


def test_the_time_of_li_counts_where_its_image_is_given(benchmark_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For LI and for networks that start from it, in any order of the methods; not for the others."""
    timed: list[Measurement] = []

    class SlowLI:
        def __init__(self, *_: str) -> None:
            pass

        def __call__(self, measurement: Measurement) -> None:
            timed.append(measurement)
            clock[0] += 1000.0

    clock = [0.0]
    monkeypatch.setattr("acdnet.evaluate.run.ClassicalMethod", SlowLI)
    monkeypatch.setattr("acdnet.evaluate.run.time.perf_counter", lambda: clock[0])
    evaluation = Evaluation([Stub("starts", starts_from="BHC, LI"), *get_entrants(["nmar", "li"]), Stub("other")])
    list(evaluate(open_pairs(benchmark_store), evaluation, count=1))
    assert {one.method: one.seconds for one in evaluation.results} == {
        "starts": 1000,
        "NMAR": 0,
        "LI": 1000,
        "other": 0,
    }
    (measurement,) = timed
    assert measurement.raw is not None
    assert not measurement.given
