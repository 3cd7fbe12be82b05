"""The requirements on the models, checked with the scores that `benchmarks.results` computed.

All values are means over the same pairs. A requirement that fails or was not scored stays in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from acdnet.evaluate.off_target import Change, over_pixels, over_slices
from acdnet.evaluate.size_bins import size_groups
from acdnet.weights.shipped import ALIASES

BENCHMARK, DEFAULT = ALIASES["benchmark"], ALIASES["default"]
PAPER_SIZES, SMALL = "benchmark-full", "benchmark-s"
CLASSICAL = ("LI", "NMAR")
REDUCED = ("dudonet-s", "dscmar-s", "dudonet++-s")
COLUMNS = ("requirement", "pairs", "limit", "found", "met")
DB, SSIM, HU, SHARE = "{:.2f} dB", "{:.4f}", "{:.1f} HU", "{:.1%}"


class NotScored(Exception):
    """A method or a score is missing."""


@dataclass(frozen=True)
class Scored:
    """The scores of one store: rows of `acdnet evaluate`, and what was kept of lesions."""

    title: str
    scores: Sequence[dict[str, Any]]
    kept: Sequence[dict[str, Any]] = ()

    def rows(self, method: str) -> list[dict[str, Any]]:
        return [row for row in self.scores if row["method"] == method]

    def mean(self, method: str, key: str) -> float:
        return _mean(row[key] for row in self.rows(method) if row.get(key) is not None)

    def above(self, method: str, others: Sequence[str], key: str = "window_psnr") -> float:
        """Return the lead of a method over the best of the others."""
        return self.mean(method, key) - max(self.mean(other, key) for other in others)

    def above_at_least(self, method: str, others: Sequence[str]) -> float:
        """Return the smallest lead in any group of metal sizes."""
        groups = size_groups([row["metal_pixels"] for row in self.rows(method)])
        if not groups:
            raise NotScored
        parts = [[row for row in self.scores if group.holds(row["metal_pixels"])] for group in groups]
        return min(Scored(self.title, part).above(method, others) for part in parts)

    def share(self, method: str, other: str) -> float:
        """Return the soft-tissue RMSE of a method as a share of another's."""
        return self.mean(method, "rmse_soft_hu") / self.mean(other, "rmse_soft_hu")

    def share_of_medians(self, method: str, other: str) -> float:
        """Return the same share of medians, which single bad slices do not affect."""
        found = [
            [r["rmse_soft_hu"] for r in self.rows(name) if r["rmse_soft_hu"] is not None] for name in (method, other)
        ]
        if not all(found):
            raise NotScored
        return float(median(found[0]) / median(found[1]))

    def changed(self, method: str, tissue: str, over: Callable[[Sequence[Change]], float]) -> float:
        """Return the mean change of tissue far from metal that has no artifact."""
        hu, pixels = f"needless_{tissue}_hu", f"needless_{tissue}_pixels"
        found = [Change(row[hu], row[pixels]) for row in self.rows(method) if row.get(hu) is not None]
        if not found:
            raise NotScored
        return over(found)

    def lesions(self, method: str, place: str) -> float:
        """Return the share of the contrast of lesions that is kept, each limited to 1."""
        return _mean(min(one["kept"], 1.0) for one in self.kept if (one["method"], one["place"]) == (method, place))


def _mean(values: Any) -> float:
    found = list(values)
    if not found:
        raise NotScored
    return fmean(found)


def requirements(bench: Scored, clinical: Scored, bench_head: Scored, clinical_head: Scored) -> list[list[str]]:
    """Return all requirements, for test patients and for heads in both protocols."""
    rows: list[list[str]] = []

    def ask(
        what: str,
        store: Scored,
        limit: float,
        value: Callable[..., float],
        *of: Any,
        form: str = DB,
        most: bool = False,
    ) -> None:
        limit_text = f"{'at most' if most else 'at least'} {form.format(limit)}"
        try:
            found = value(store, *of)
        except NotScored:
            rows.append([what, store.title, limit_text, "-", "not scored"])
            return
        holds = found <= limit if most else found >= limit
        rows.append([what, store.title, limit_text, form.format(found), "yes" if holds else "no"])

    ask(f"`{BENCHMARK}` above LI", bench, 6.0, Scored.above, BENCHMARK, ("LI",))
    least = f"`{BENCHMARK}` above LI and NMAR, at the metal size with the smallest lead"
    ask(least, bench, 0.0, Scored.above_at_least, BENCHMARK, CLASSICAL)
    ask(f"SSIM of `{BENCHMARK}`", bench, 0.975, Scored.mean, BENCHMARK, "window_ssim", form=SSIM)
    ask(f"`{PAPER_SIZES}` above `{SMALL}`", bench, 0.0, Scored.above, PAPER_SIZES, (SMALL,))
    ssim = f"SSIM of `{PAPER_SIZES}` above `{SMALL}`"
    ask(ssim, bench, 0.0, Scored.above, PAPER_SIZES, (SMALL,), "window_ssim", form=SSIM)
    for other, limit in (("LI", 0.5), ("NMAR", 1.0)):
        soft = f"soft-tissue RMSE of `{DEFAULT}` relative to {other}"
        ask(soft, clinical, limit, Scored.share, DEFAULT, other, form=SHARE, most=True)
        ask(f"{soft}, medians", clinical, limit, Scored.share_of_medians, DEFAULT, other, form=SHARE, most=True)
    ask(f"`{BENCHMARK}` above LI and NMAR", bench_head, 0.0, Scored.above, BENCHMARK, CLASSICAL)
    ask(f"`{DEFAULT}` above LI and NMAR", clinical_head, 0.0, Scored.above, DEFAULT, CLASSICAL)
    for store in (clinical, clinical_head):
        for tissue, called in (("soft", "soft tissue"), ("bone", "bone")):
            for over, of in ((over_pixels, "mean of all pixels"), (over_slices, "mean of slice means")):
                change = f"needless change of {called} by `{DEFAULT}`, {of}"
                ask(change, store, 5.0, Scored.changed, DEFAULT, tissue, over, form=HU, most=True)
    for place, called, limit in (("near", "near metal", 0.8), ("far", "far from metal", 0.95)):
        kept = f"contrast of lesions {called} that `{DEFAULT}` keeps"
        ask(kept, clinical, limit, Scored.lesions, DEFAULT, place, form=SHARE)
    ask("`cnnmar` above NMAR", bench, 0.0, Scored.above, "cnnmar", ("NMAR",))
    for name in REDUCED:
        ask(f"`{name}` above LI", bench, 0.0, Scored.above, name, ("LI",))
    return rows
