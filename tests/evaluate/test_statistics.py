import numpy as np
import pytest

from acdnet.evaluate.statistics import by_patient, compare


def test_every_patient_counts_once() -> None:
    assert by_patient([1.0, 3.0, 10.0, 5.0], ["a", "a", "b", "a"]) == [3.0, 10.0]


def test_images_of_few_patients_prove_less_than_as_many_patients() -> None:
    rng = np.random.default_rng(0)
    patients = [name for name in "abcdef" for _ in range(20)]
    habit = {name: rng.normal(0.5, 1.0) for name in "abcdef"}
    better = [40.0 + habit[name] + rng.normal(0.0, 0.1) for name in patients]
    plain = [40.0] * len(patients)
    of_images = compare(plain, better).t_test
    of_patients = compare(by_patient(plain, patients), by_patient(better, patients)).t_test
    assert of_images is not None
    assert of_patients is not None
    assert of_images < 0.001 < of_patients


@pytest.mark.parametrize("scores", [[1.0], [1.0, 2.0], [1.0, float("nan")]])
def test_there_is_no_p_value_without_differences(scores: list[float]) -> None:
    assert compare(scores, scores).t_test is None


def test_a_difference_on_every_image_is_significant() -> None:
    rng = np.random.default_rng(0)
    best = list(rng.normal(40, 1, 30))
    worse = [value - 2 + rng.normal(0, 0.2) for value in best]
    found = compare(worse, best)
    assert found.t_test is not None
    assert found.wilcoxon is not None
    assert found.t_test < 1e-6
    assert found.wilcoxon < 1e-4
    assert compare([1.0], [2.0]).wilcoxon is None
