"""What the benchmarks count and write; what they measure is not tested."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from acdnet.config import ACDNetConfig
from acdnet.data.pairs import open_pairs
from acdnet.data.recipe import Recipe
from acdnet.evaluate.metrics import window_psnr
from acdnet.weights.card import read_card
from acdnet.weights.shipped import find_model
from benchmarks import beside, overfit, patchwise, reduction, rivals, ship, tried, trust
from benchmarks.literal import LiteralACDNet
from benchmarks.model import alternate, operations
from benchmarks.readme import markdown, put
from tests.helpers import make_input
from tests.train.make import small_store


def test_operations_of_a_slice() -> None:
    assert operations(ACDNetConfig(), 416 * 416) / 1e9 == pytest.approx(285, abs=1)


def test_contestants_take_turns() -> None:
    order: list[str] = []

    def contestant(name: str) -> torch.Tensor:
        order.append(name)
        return torch.zeros(())

    times = alternate({"a": lambda: contestant("a"), "b": lambda: contestant("b")}, 2)
    assert order == ["a", "b"] * 3
    assert times.keys() == {"a", "b"}


def test_the_literal_network_has_the_published_number_of_parameters() -> None:
    assert sum(p.numel() for p in LiteralACDNet().parameters()) == 1_602_809


def test_the_literal_network_builds_every_product() -> None:
    model = LiteralACDNet(T=1, N=2, d=3, p=5, N_p=2, blocks=1)
    _, _, I = make_input(2, 13, 18)
    assert model.every_product(I.float().expand(2, 2, 13, 18)).shape == (2, 2, 3, 13, 18)


def test_tables_go_between_their_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- t -->\nold\n<!-- /t -->\nb\n")
    for _ in range(2):
        put(page, "t", markdown(("x", "y", "z"), [("1", "2", "3")]))
    assert page.read_text() == (
        "a\n<!-- t -->\n\n| x | y | z |\n| --- | --- | ---: |\n| 1 | 2 | 3 |\n\n<!-- /t -->\nb\n"
    )
    with pytest.raises(SystemExit):
        put(page, "other", "")


def test_rows_of_runs_that_are_gone_are_kept() -> None:
    table = markdown(("run", "dB"), [["a", "1"], ["", "2"], ["b", "3"]], texts=1)
    page = f"text\n<!-- tried table -->\n\n{table}\n\n<!-- /tried table -->\n"
    assert tried.kept(page, {"b", "c"}) == [["a", "1"], ["", "2"]]
    assert tried.kept(page, {"a"}) == [["b", "3"]]


def test_tiles_are_put_together_as_they_were() -> None:
    image = torch.arange(patchwise.SIDE**2).view(patchwise.SIDE, patchwise.SIDE)
    for side in patchwise.TILES:
        assert torch.equal(patchwise.whole(patchwise.tiles(image, side), side), image)


def test_reduction_counts_what_the_command_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduction, "SIZE", 192)
    rows = reduction.measure(slices=3, metal=1, rounds=1)
    assert [len(row.cells()) for row in rows] == [len(reduction.COLUMNS)] * 2
    assert all(0 < row.bare < row.series for row in rows)
    assert all(100 < row.megabytes < 3000 for row in rows)


def test_trust_scores_masks_and_ranks(tmp_path: Path) -> None:
    pairs = open_pairs(small_store(tmp_path, 3, recipe=Recipe("clinical", pairs=1, size=128)))
    columns, rows = trust.segmentation(pairs, 3)
    assert [len(row) for row in rows] == [len(columns)] * 2
    ranks = list(trust.rank_correlations(pairs, 2, "default"))
    assert len(ranks) == 2
    assert all(-1 <= rank <= 1 for rank in ranks)


def test_giving_back_is_scored_beside_the_network_alone(tmp_path: Path) -> None:
    pairs = open_pairs(small_store(tmp_path, 1, recipe=Recipe("clinical", pairs=1, size=128)))
    rows = beside.measure(pairs, 1, "default")
    assert [row[0] for row in rows] == ["tracefit", *beside.STEPS]
    assert [len(row) for row in rows] == [len(beside.COLUMNS)] * 4
    assert rows[1][1:] != rows[2][1:]


def test_a_model_is_shipped_under_its_name_with_another_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = find_model("default")
    monkeypatch.setattr(ship, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "argv", ["ship", str(source), "mine", "A line.", "--last", "none"])
    ship.main()
    old, new = read_card(source), read_card(tmp_path / "mine.safetensors")
    assert (new.name, new.summary, new.training) == ("mine", "A line.", old.training)
    assert isinstance(old.config, ACDNetConfig)
    assert new.config == replace(old.config, last="none")
    monkeypatch.setattr(ship, "LARGEST_BYTES", 1000)
    with pytest.raises(SystemExit, match="not shipped"):
        ship.main()


def test_steps_and_slices_of_learned_methods_are_timed() -> None:
    (row,) = rivals.measure(["cnnmar"], rounds=1, size=64, slices=2)
    assert len(row.cells()) == len(rivals.COLUMNS)
    assert row.parameters == 28_929
    assert row.seconds > 0
    assert row.slice_seconds > 0
    assert 0.1 < row.gigabytes < 3


def test_a_pair_learnt_by_heart_is_scored_beside_li(tmp_path: Path) -> None:
    store = small_store(tmp_path, 1, recipe=Recipe("syndeeplesion", pairs=1, size=96, sinograms=True))
    pair = open_pairs(store).read(0)
    before, li, learnt = overfit.overfit(store, "cnnmar", patches=8)
    assert before == pytest.approx(window_psnr(pair.corrupted, pair.clean, pair.metal), abs=0.01)
    assert li == pytest.approx(window_psnr(pair.li, pair.clean, pair.metal), abs=0.01)
    assert learnt > 0
