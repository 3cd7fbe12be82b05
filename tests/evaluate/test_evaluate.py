from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from acdnet.cli.app import app
from acdnet.data.pairs import marks, open_pairs
from acdnet.data.recipe import Recipe
from acdnet.data.store import Pair
from acdnet.errors import ConfigError, InputRefused
from acdnet.evaluate.case import Case
from acdnet.evaluate.figures import draw_stages
from acdnet.evaluate.lesions import CONTRAST_HU, Retention, draw_disc, lesion_retention, with_disc
from acdnet.evaluate.methods import Contestant, check_unseen, contestant, contestants
from acdnet.evaluate.metrics import Scores, score
from acdnet.evaluate.report import latex, markdown
from acdnet.evaluate.run import AREAS, Evaluation, Result, evaluate
from acdnet.evaluate.size_bins import size_groups
from acdnet.evaluate.statistics import compare
from acdnet.evaluate.tables import Sheet, all_tables, ranked, table_lesions, table_one, table_tests
from acdnet.fast.inference import InferenceACDNet
from acdnet.methods.hu_adapter import decompose_hu, to_hu
from acdnet.methods.method import method
from acdnet.reduction.reducer import make_reducer, reduce_slice
from acdnet.weights.card import Training
from acdnet.weights.save import save_model
from tests.helpers import SMALL, make_model
from tests.train.make import small_store


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_store(tmp_path_factory.mktemp("a"), 6, recipe=Recipe(pairs=1, size=96, sinograms=True))


@pytest.fixture(scope="module")
def clinical(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_store(tmp_path_factory.mktemp("b"), 6, recipe=Recipe("clinical", pairs=1, size=96))


@pytest.mark.parametrize("protocol", ["benchmark", "clinical"])
def test_all_methods_on_a_store(protocol: str, request: pytest.FixtureRequest) -> None:
    pairs = open_pairs(request.getfixturevalue(protocol))
    evaluation = Evaluation(contestants(["input", "li", "bhc", "nmar", "acdnet"]))
    assert list(evaluate(pairs, evaluation, count=3)) == [1, 2, 3]
    assert len(evaluation.results) == 15
    assert [one.name for one in evaluation.methods] == ["Input", "LI", "BHC", "NMAR", "ACDNet"]
    sheets = all_tables(evaluation, [])
    titles = [sheet.title for sheet in sheets]
    assert titles[:4] == [f"By metal size ({name})" for name in ("window", "paper", "hu", "soft")]
    assert ("Left alone" in titles) == (protocol == "clinical")
    for sheet in sheets:
        assert all(len(row) == len(sheet.columns) for row in sheet.rows)
        assert sheet.rows[0][0] in markdown(sheet)
        assert "nan" not in markdown(sheet)
        assert r"\toprule" in latex(sheet)


def test_li_is_that_of_the_pair_where_raw_data_made_it(benchmark: Path) -> None:
    case = Case.read(open_pairs(benchmark), 1)
    assert np.array_equal(contestant("li").run(case), case.pair.li)


def test_li_is_made_of_what_all_methods_are_given(clinical: Path) -> None:
    case = Case.read(open_pairs(clinical), 1)
    ours = contestant("li").run(case)
    assert np.array_equal(ours, method("li")(case.measured))
    assert np.abs(ours - case.pair.li).mean() < 1.0  # the store rounds to quarters of a HU


def test_numbers_of_a_cell_are_ranked_apart() -> None:
    ranks = (
        ranked([40.0, 42.0, 41.0], 1) | ranked([0.9, 0.8, 0.8], 1, 1) | ranked([float("nan"), 3.0, 2.0], 2, least=True)
    )
    rows = [["a", "40 / 0.9", "-"], ["b", "42 / 0.8", "3"], ["c", "41 / 0.8", "2"]]
    sheet = Sheet("t", "n", ["method", "x", "y"], rows, ranks)
    text = markdown(sheet)
    assert "| a | 40 / **0.9** | - |" in text
    assert "| b | **42** / *0.8* | *3* |" in text
    assert "| c | *41* / *0.8* | **2** |" in text
    assert r"\textbf{42} / \textit{0.8}" in latex(sheet)


def test_a_method_that_makes_no_numbers_is_refused(clinical: Path) -> None:
    broken = Contestant("broken", 0, lambda case: np.full_like(case.pair.clean, np.nan))
    with pytest.raises(InputRefused, match="broken makes numbers of it that are not finite"):
        list(evaluate(open_pairs(clinical), Evaluation([broken]), count=1))


def test_scores_so_far_are_kept(clinical: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks_later(case: Case) -> NDArray[np.float32]:
        done.append(case.info.name)
        return case.pair.li if len(done) != 3 else np.full_like(case.pair.li, np.nan)

    done: list[str] = []
    methods = [contestant("li"), Contestant("broken", 0, breaks_later)]
    monkeypatch.setattr("acdnet.evaluate.methods.contestants", lambda _: methods)
    out = tmp_path / "e"
    command = ["evaluate", str(clinical), "--out", str(out), "--methods", "li"]
    told = CliRunner().invoke(app, command)
    assert isinstance(told.exception, InputRefused)
    assert "unfinished.csv" in told.output
    with (out / "unfinished.csv").open() as file:
        kept = [(row["case"], row["method"]) for row in csv.DictReader(file)]
    assert kept == [(name, method) for name in done[:2] for method in ("LI", "broken")]  # not the half of the third
    assert CliRunner().invoke(app, command).exit_code == 0
    assert not (out / "unfinished.csv").exists()
    assert (out / "scores.csv").is_file()


def test_many_stages_take_several_rows(tmp_path: Path) -> None:
    from PIL import Image

    metal = np.zeros((48, 48), bool)
    metal[20:24, 20:24] = True
    clean = np.zeros((48, 48), np.float32)
    pair = Pair(clean, clean + np.float32(30.0), clean, metal)
    widths = []
    for T in (3, 10):
        found = decompose_hu(
            InferenceACDNet(make_model(replace(SMALL, T=T))), pair.corrupted, pair.li, metal, details=True
        )
        draw_stages(pair, found, tmp_path / f"{T}.png")
        with Image.open(tmp_path / f"{T}.png") as picture:
            widths.append(picture.size)
    (few_wide, few_high), (many_wide, many_high) = widths
    assert many_wide == pytest.approx(6 / 4 * few_wide, rel=0.05)  # two rows of six instead of one of eleven
    assert many_high > 1.5 * few_high


def test_a_network_begins_with_what_it_was_trained_with(clinical: Path, tmp_path: Path) -> None:
    models = {name: make_model(replace(SMALL, first=name)) for name in ("li", "tracefit")}
    case = Case.read(open_pairs(clinical), 1)
    results = {}
    for name, model in models.items():
        save_model(model, tmp_path / f"{name}.safetensors", name=name, summary="for a test")
        one = contestant(str(tmp_path / f"{name}.safetensors"))
        assert one.starts_from_li == (name == "li")
        results[name] = one.run(case)
    first = method("tracefit")(case.measured)
    inside = decompose_hu(InferenceACDNet(models["li"]), case.pair.corrupted, first, case.pair.metal)
    np.testing.assert_allclose(results["tracefit"], to_hu(inside.image), atol=1e-3)
    assert np.abs(results["tracefit"] - results["li"]).max() > 1
    mm = (case.pixel_mm or 1.0,) * 2
    reduced = reduce_slice(
        make_reducer("acdnet", str(tmp_path / "tracefit.safetensors")), case.pair.corrupted, case.pair.metal, mm
    )
    tissue = ~case.pair.metal & (np.abs(case.pair.corrupted) < 900)
    np.testing.assert_allclose((case.pair.corrupted + reduced.change)[tissue], results["tracefit"][tissue], atol=0.1)


def test_raw_data_are_asked_for_where_they_are_needed(tmp_path: Path) -> None:
    case = Case.read(open_pairs(small_store(tmp_path, 1)), 0)
    with pytest.raises(InputRefused, match="--sinograms"):
        contestant("nmar").run(case)
    contestant("li").run(case)


def test_the_average_is_that_of_all_cases(clinical: Path) -> None:
    evaluation = Evaluation(contestants(["input", "li"]))
    list(evaluate(open_pairs(clinical), evaluation))
    sheet = table_one(evaluation, "window")
    mean = np.mean([result.scores.window_psnr for result in evaluation.of("LI")])
    assert sheet.rows[1][-1].startswith(f"{mean:.2f} /")
    assert 1 + 3 + 1 <= len(sheet.columns) <= 1 + 5 + 1


def results_of(name: str, soft_hu: list[float]) -> list[Result]:
    by_area = [dict.fromkeys(AREAS, hu) for hu in soft_hu]
    scores = [Scores(40.0, 0.9, 40.0, 0.9, areas, areas) for areas in by_area]
    return [Result(f"case {n}", 9, name, 1.0, one, patient=f"patient {n}") for n, one in enumerate(scores)]


def test_of_errors_the_least_is_the_best_and_images_without_the_tissue_do_not_count() -> None:
    evaluation = Evaluation([Contestant(name, 0, lambda case: case.pair.clean) for name in ("a", "b")])
    evaluation.results = results_of("a", [20.0, math.nan, 22.0, 25.0]) + results_of("b", [10.0, math.nan, 11.0, 14.0])
    sheet = table_tests(evaluation, "soft")
    assert sheet.rows[1] == ["b", "11.67", "best", "best", "best"]
    assert sheet.rows[0][1] == "22.33"
    assert "over 3 images" in sheet.note
    evaluation.results = results_of("a", [math.nan]) + results_of("b", [math.nan])
    assert table_tests(evaluation, "soft").rows[0][1:] == ["-", "best", "best", "best"]


def test_p_values_of_one_patient_are_said_to_tell_nothing_of_others() -> None:
    evaluation = Evaluation([Contestant(name, 0, lambda case: case.pair.clean) for name in ("a", "b")])
    evaluation.results = results_of("a", [20.0, 22.0, 25.0]) + results_of("b", [10.0, 11.0, 14.0])
    assert "one patient: nothing" not in table_tests(evaluation, "soft").note
    evaluation.results = [replace(result, patient="the only one") for result in evaluation.results]
    sheet = table_tests(evaluation, "soft")
    assert sheet.note.endswith("one patient: nothing follows for others")
    assert sheet.rows[0][2] != "-"
    assert sheet.rows[0][4] == "-"


def test_contrast_that_was_gained_does_not_make_up_for_what_was_lost() -> None:
    kept = [Retention("one", "a", "near", 0.5), Retention("two", "a", "near", 1.5), Retention("one", "a", "far", 1.0)]
    sheet = table_lesions(kept)
    assert sheet.rows == [["a", "75.0% (50% to 150%)", "100.0% (100% to 100%)"]]
    assert "(2 near, 1 far)" in sheet.note


def test_groups_of_the_public_masks() -> None:
    sizes = [2061, 890, 881, 451, 254, 124, 118, 112, 53, 35] * 3
    groups = size_groups(sizes)
    assert [(group.most, group.least) for group in groups] == [
        (2061, 890),
        (881, 451),
        (254, 124),
        (118, 112),
        (53, 35),
    ]
    assert sum(group.holds(size) for size in sizes for group in groups) == len(sizes)


@pytest.mark.parametrize("sizes", [[5], [5, 5, 5], [1, 2], list(range(1, 8)), [1, 1, 1, 1, 9]])
def test_every_size_is_in_exactly_one_group(sizes: list[int]) -> None:
    groups = size_groups(sizes)
    assert all(sum(group.holds(size) for group in groups) == 1 for size in sizes)


def test_p_values() -> None:
    rng = np.random.default_rng(0)
    best = list(rng.normal(40, 1, 30))
    worse = [value - 2 + rng.normal(0, 0.2) for value in best]
    found = compare(worse, best)
    assert found.t_test is not None
    assert found.wilcoxon is not None
    assert found.t_test < 1e-6
    assert found.wilcoxon < 1e-4
    assert compare(best, best).t_test is None
    assert compare([1.0], [2.0]).wilcoxon is None


def test_f57_what_is_kept_of_a_lesion(clinical: Path) -> None:
    """A method that leaves images alone keeps all; one that blurs keeps less; one that erases keeps nothing."""
    case = Case.read(open_pairs(clinical), 2)
    methods = [
        Contestant("keeps", 0, lambda one: one.pair.corrupted),
        Contestant("halves", 0, lambda one: 0.5 * one.pair.corrupted),
        Contestant("erases", 0, lambda one: np.zeros_like(one.pair.clean)),
    ]
    found = lesion_retention(case, methods, np.random.default_rng(0))
    assert {one.place for one in found} >= {"no metal"}
    for one in found:
        assert one.kept == pytest.approx({"keeps": 1.0, "halves": 0.5, "erases": 0.0}[one.method], abs=0.01)


def test_f57_nmar_and_li_keep_what_is_far_from_metal(benchmark: Path) -> None:
    """Also where raw data are at hand: the disc is in the image, so images are what methods get."""
    found = []
    for index in range(3):
        case = Case.read(open_pairs(benchmark), index)
        found += lesion_retention(case, contestants(["li", "nmar"]), np.random.default_rng(index))
    kept = [one.kept for one in found if one.place == "far"]
    assert kept, "no room for a disc far from metal"
    assert np.mean(kept) > 0.6
    assert all(one.kept == pytest.approx(1.0, abs=0.05) for one in found if one.place == "no metal")


def test_the_metal_of_the_input_does_not_move_the_paper_score(clinical: Path) -> None:
    """Its bright pixels would stretch the range of the image; metal is taken out before that."""
    pair = (case := Case.read(open_pairs(clinical), 1)).pair
    image = contestant("acdnet").run(case)
    brighter = np.where(pair.metal, image.max() + 1000, image).astype(np.float32)
    assert score(brighter, pair.clean, pair.metal) == score(image, pair.clean, pair.metal)
    assert (
        score(brighter, pair.clean, np.zeros_like(pair.metal)).paper_psnr
        < score(image, pair.clean, pair.metal).paper_psnr
    )


def test_a_disc_is_added_to_tissue_only(clinical: Path) -> None:
    case = Case.read(open_pairs(clinical), 2)
    disc = draw_disc(case, "no metal", np.random.default_rng(1))
    assert disc is not None
    changed = with_disc(case, disc)
    added = changed.pair.clean - case.pair.clean
    assert added.max() <= CONTRAST_HU + 1e-3
    assert np.array_equal(changed.pair.corrupted[case.pair.metal], case.pair.corrupted[case.pair.metal])


def test_unknown_and_doubled_methods_are_refused() -> None:
    with pytest.raises(InputRefused, match="no shipped model"):
        contestants(["magic"])
    with pytest.raises(ConfigError, match="two methods"):
        contestants(["clinical-s", "default"])
    with pytest.raises(ConfigError, match="no method"):
        contestants([])


def test_f52_a_model_is_not_scored_on_patients_it_learnt_from(clinical: Path) -> None:
    pairs = open_pairs(clinical)
    training = Training("some", "clinical", 1, 1.0, patients=marks([pairs])[:2])
    seen = Contestant("seen", 1, lambda case: case.pair.li, training=training)
    with pytest.raises(InputRefused, match="seen was trained on 2 of its"):
        check_unseen([*contestants(["li", "acdnet"]), seen], pairs)
    check_unseen(contestants(["li", "acdnet"]), pairs)


def test_the_time_of_a_network_has_that_of_li_in_it(benchmark: Path) -> None:
    """In any order of the methods, though the LI image comes with the pair; not of one that begins with no LI."""
    begins, does_not = (
        Contestant(name, 1, lambda case: case.pair.li, starts_from_li=name == "begins") for name in ("begins", "not")
    )
    evaluation = Evaluation([begins, *contestants(["nmar", "li"]), does_not])
    list(evaluate(open_pairs(benchmark), evaluation, count=3))
    seconds = {name: np.median([result.seconds for result in evaluation.of(name)]) for name in ("begins", "LI", "not")}
    assert min(seconds["begins"], seconds["LI"]) > 10 * seconds["not"]


def test_a_refusal_among_the_lesions_does_not_lose_the_scores(
    clinical: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise InputRefused("no room")

    monkeypatch.setattr("acdnet.evaluate.lesions.lesion_retention", refuse)
    done = CliRunner().invoke(app, ["evaluate", str(clinical), "--out", str(tmp_path / "e"), "--methods", "li"])
    assert isinstance(done.exception, InputRefused)
    assert json.loads((tmp_path / "e/report.json").read_text())["scores"]


def test_the_command_writes_everything(clinical: Path, tmp_path: Path) -> None:
    arguments = [
        str(clinical),
        "--out",
        str(tmp_path / "e"),
        "--pairs",
        "3",
        "--lesions",
        "1",
        "--methods",
        "input,li,acdnet",
    ]
    done = CliRunner().invoke(app, ["evaluate", *arguments])
    assert done.exit_code == 0, done.output
    names = {path.name for path in (tmp_path / "e").iterdir()}
    assert names == {
        *("scores.csv", "tables.csv", "tables.md", "tables.tex", "report.json"),
        *("panels.png", "sizes.png", "stages.png", "dictionary.png", "cases.npz"),
    }
    report = json.loads((tmp_path / "e/report.json").read_text())
    assert len(report["scores"]) == 9
    assert {one["method"] for one in report["lesions"]} == {"Input", "LI", "ACDNet"}
    assert "Lesion retention" in (tmp_path / "e/tables.md").read_text()
    again = CliRunner().invoke(app, ["evaluate", *arguments])
    assert isinstance(again.exception, InputRefused)
