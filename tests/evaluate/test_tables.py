import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from acdnet.data.pairs import open_pairs
from acdnet.evaluate.entrants import get_entrants
from acdnet.evaluate.lesions import Retention
from acdnet.evaluate.report import latex, markdown
from acdnet.evaluate.run import Evaluation, evaluate
from acdnet.evaluate.tables import Sheet, ranked, table_lesions, table_one, table_tests
from tests.evaluate.make import Stub, case_scores


def test_numbers_of_a_cell_are_ranked_separately() -> None:
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


def test_the_average_is_that_of_all_cases(clinical_store: Path) -> None:
    evaluation = Evaluation(get_entrants(["input", "li"]))
    list(evaluate(open_pairs(clinical_store), evaluation))
    sheet = table_one(evaluation, "window")
    mean = np.mean([result.scores.window_psnr for result in evaluation.of("LI")])
    assert sheet.rows[1][-1].startswith(f"{mean:.2f} /")
    assert 1 + 3 + 1 <= len(sheet.columns) <= 1 + 5 + 1


def test_the_smallest_error_is_the_best_and_images_without_the_tissue_do_not_count() -> None:
    evaluation = Evaluation([Stub("a"), Stub("b")])
    evaluation.results = case_scores("a", [20.0, math.nan, 22.0, 25.0]) + case_scores("b", [10.0, math.nan, 11.0, 14.0])
    sheet = table_tests(evaluation, "soft")
    assert sheet.rows[1] == ["b", "11.67", "best", "best", "best"]
    assert sheet.rows[0][1] == "22.33"
    assert "over 3 images" in sheet.note
    evaluation.results = case_scores("a", [math.nan]) + case_scores("b", [math.nan])
    assert table_tests(evaluation, "soft").rows[0][1:] == ["-", "best", "best", "best"]


def test_p_values_of_one_patient_say_nothing_about_others() -> None:
    evaluation = Evaluation([Stub("a"), Stub("b")])
    evaluation.results = case_scores("a", [20.0, 22.0, 25.0]) + case_scores("b", [10.0, 11.0, 14.0])
    assert "a single patient does not allow" not in table_tests(evaluation, "soft").note
    evaluation.results = [replace(result, patient="the only one") for result in evaluation.results]
    sheet = table_tests(evaluation, "soft")
    assert sheet.note.endswith("a single patient does not allow conclusions about others")
    assert sheet.rows[0][2] != "-"
    assert sheet.rows[0][4] == "-"


def test_gained_contrast_does_not_offset_lost_contrast() -> None:
    kept = [Retention("one", "a", "near", 0.5), Retention("two", "a", "near", 1.5), Retention("one", "a", "far", 1.0)]
    sheet = table_lesions(kept)
    assert sheet.rows == [["a", "75.0% (50% to 150%)", "100.0% (100% to 100%)"]]
    assert "(2 near, 1 far)" in sheet.note
