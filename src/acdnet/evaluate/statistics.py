"""Paired tests of methods against the best one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import ttest_rel, wilcoxon


@dataclass(frozen=True)
class Comparison:
    """p-values of one method against the best; None if they cannot be computed."""

    t_test: float | None
    wilcoxon: float | None


def by_patient(scores: list[float], patients: list[str]) -> list[float]:
    """Return the mean score of every patient."""
    return [
        float(np.mean([score for score, whose in zip(scores, patients, strict=True) if whose == patient]))
        for patient in dict.fromkeys(patients)
    ]


def compare(scores: list[float], best: list[float]) -> Comparison:
    """Compare the scores of two methods on the same images: paired t-test and Wilcoxon signed-rank test."""
    difference = np.asarray(scores) - np.asarray(best)
    if len(difference) < 2 or not np.isfinite(difference).all() or np.ptp(difference) == 0:
        return Comparison(None, None)
    return Comparison(float(ttest_rel(scores, best).pvalue), float(wilcoxon(difference).pvalue))
