"""What the benchmarks count, compare and write; the times that they measure are not tested."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from acdnet.config import ACDNetConfig
from acdnet.data.pairs import open_pairs, some_of
from acdnet.evaluate.case import Case
from acdnet.methods.method import BaseMethod, Reduction
from acdnet.methods.registry import get_method
from acdnet.weights.card import read_card
from acdnet.weights.shipped import find_model
from benchmarks import reduction, ship, trace_correction, trust
from benchmarks.harness import Table, alternate, put
from benchmarks.literal import LiteralACDNet
from benchmarks.model import contestant, operations


def test_operations_of_a_slice() -> None:
    assert operations(ACDNetConfig(), 416 * 416) / 1e9 == pytest.approx(285, abs=1)


def test_runs_alternate() -> None:
    order: list[str] = []
    times = alternate({name: lambda name=name: order.append(name) for name in "ab"}, 2)  # type: ignore[misc]
    assert order == ["a", "b"] * 3
    assert times.keys() == {"a", "b"}


def test_the_literal_network_has_the_published_number_of_parameters() -> None:
    assert sum(p.numel() for p in LiteralACDNet().parameters()) == 1_602_809


def test_tables_go_between_their_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- t -->\nold\n<!-- /t -->\nb\n")
    for _ in range(2):
        put(page, "t", Table(("x", "y"), [("1", "2")], ["A note."]).markdown())
    assert page.read_text() == "a\n<!-- t -->\n\n| x | y |\n| --- | ---: |\n| 1 | 2 |\n\nA note.\n\n<!-- /t -->\nb\n"
    with pytest.raises(SystemExit, match="markers of 'other' are missing"):
        put(page, "other", "")


def test_several_notes_are_a_list() -> None:
    assert Table(("x",), [("1",)], ["One.", "Two."]).markdown().endswith("\n\n- One.\n- Two.")


def test_reduction_counts_what_the_command_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduction, "SIZE", 192)
    table = reduction.measure("li", slices=3, metal=1, rounds=1)
    ((label, series, each, *_, times, _memory),) = table.rows
    assert (label, times) == ("LI", "1.0 x")
    assert float(series[:-2]) == pytest.approx(float(each[:-2]), abs=0.06)  # a single slice has metal
    assert table.notes == ["3 DICOM slices of 192 x 192 with metal in 1; medians of 1 alternating rounds."]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_expected_errors_are_ranked(clinical_store: Path, monkeypatch: pytest.MonkeyPatch, sign: float) -> None:
    pairs = open_pairs(clinical_store)
    truth = iter([pairs.read(index).clean for index in some_of(len(pairs.infos()), 2)])

    class Knowing(BaseMethod):
        """Expects its true error, or the opposite."""

        def batch(self, _: object) -> list[Reduction]:
            clean = next(truth)
            error = np.linspace(0, 1, clean.size, dtype=np.float32).reshape(clean.shape)
            return [Reduction(clean + error, sign * error)]

    monkeypatch.setattr(trust, "get_method", lambda *_: Knowing())
    assert trust.rank_correlations(pairs, 2) == pytest.approx([sign, sign], abs=1e-3)


def test_the_last_variant_is_the_model_itself(clinical_store: Path) -> None:
    case = Case.read(open_pairs(clinical_store), 0)
    start, plain, with_bone, whole = (one(case.measurement()).image_hu for one in trace_correction.variants("default"))
    assert np.array_equal(whole, get_method("clinical-s", "cpu")(case.measurement()).image_hu)
    assert np.array_equal(start, get_method("tracefit", "cpu")(case.measurement()).image_hu)
    assert np.abs(with_bone - plain)[~case.pair.metal].max() > 1.0
    assert np.array_equal(with_bone[case.pair.metal], plain[case.pair.metal])


def test_variants_are_compared_step_by_step(clinical_store: Path) -> None:
    table = trace_correction.measure(open_pairs(clinical_store), 1)
    assert [row[0] for row in table.rows] == ["Trace fit", *trace_correction.STEPS]
    assert table.rows[0][-2:] == ["", ""]
    for before, after in zip(table.rows, table.rows[1:], strict=False):
        assert after[-1] == f"{before[2].removesuffix(' HU')} to {after[2]}"
        assert after[-2] in ("0 of 1", "1 of 1")


def test_a_model_is_shipped_under_its_new_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = find_model("default")
    monkeypatch.setattr(ship, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "argv", ["ship", str(source), "mine", "A line.", "--half"])
    ship.main()
    old, new = read_card(source), read_card(tmp_path / "mine.safetensors")
    assert (new.name, new.summary) == ("mine", "A line.; weights rounded to 16 bits")
    assert (new.config, new.training) == (old.config, old.training)
    monkeypatch.setattr(ship, "LARGEST_BYTES", 1000)
    with pytest.raises(SystemExit, match="are shipped"):
        ship.main()


def test_both_networks_return_the_same_image() -> None:
    literal, ours = (contestant(name, "inference", small=True)() for name in ("literal", "ours"))
    assert torch.allclose(literal, ours, atol=1e-2)
