"""The requirements on the models, checked with the scores that `benchmarks.results` computed.

All values are means over the same pairs. A requirement that fails or was not scored stays in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import StatisticsError, fmean, median

from acdnet.evaluate.off_target import Change, over_pixels, over_slices
from acdnet.weights.shipped import ALIASES
from benchmarks.results_scores import REDUCED, StoreScores

BENCHMARK, DEFAULT = ALIASES["benchmark"], ALIASES["default"]
PAPER_SIZES, SMALL = "benchmark-full", "benchmark-s"
CLASSICAL = ("LI", "NMAR")
COLUMNS = ("requirement", "pairs", "limit", "found", "met")
DB, SSIM, HU, SHARE = "{:.2f} dB", "{:.4f}", "{:.1f} HU", "{:.1%}"

Value = Callable[[StoreScores], float]


@dataclass(frozen=True)
class Requirement:
    """A limit of a value, which is computed from the scores of a store."""

    what: str
    value: Value
    limit: float = 0.0
    form: str = DB
    at_most: bool = False

    def row(self, store: StoreScores) -> list[str]:
        """Return the requirement as a row of the table."""
        limit = f"{'at most' if self.at_most else 'at least'} {self.form.format(self.limit)}"
        try:
            found = self.value(store)
        except StatisticsError:  # the mean of nothing
            return [self.what, store.title, limit, "-", "not scored"]
        holds = found <= self.limit if self.at_most else found >= self.limit
        return [self.what, store.title, limit, self.form.format(found), "yes" if holds else "no"]


def lead(method: str, others: Sequence[str], key: str = "window_psnr") -> Value:
    """Return the lead of a method over the best of the others."""
    return lambda store: store.mean(method, key) - max(store.mean(other, key) for other in others)


def smallest_lead(method: str, others: Sequence[str]) -> Value:
    """Return the smallest lead in any group of metal sizes."""
    return lambda store: min(lead(method, others)(part) for part in store.by_size().values())


def relative_rmse(method: str, other: str, average: Callable[[Sequence[float]], float]) -> Value:
    """Return the soft-tissue RMSE of a method as a share of another's."""
    key = "rmse_soft_hu"
    return lambda store: average(store.values(method, key)) / average(store.values(other, key))


def needless_change(method: str, tissue: str, average: Callable[[Sequence[Change]], float]) -> Value:
    """Return the mean change of tissue far from metal that has no artifact."""

    def value(store: StoreScores) -> float:
        hu, pixels = f"needless_{tissue}_hu", f"needless_{tissue}_pixels"
        found = [Change(row[hu], row[pixels]) for row in store.of(method) if row.get(hu) is not None]
        if not found:
            raise StatisticsError
        return average(found)

    return value


def kept_contrast(method: str, place: str) -> Value:
    """Return the share of the contrast of lesions that is kept, each limited to 1."""
    return lambda store: fmean(
        min(one["kept"], 1.0) for one in store.lesions if (one["method"], one["place"]) == (method, place)
    )


def for_benchmark() -> Iterator[Requirement]:
    """Yield the requirements on test patients in the benchmark's protocol."""
    yield Requirement(f"`{BENCHMARK}` above LI", lead(BENCHMARK, ("LI",)), 6.0)
    what = f"`{BENCHMARK}` above LI and NMAR, at the metal size with the smallest lead"
    yield Requirement(what, smallest_lead(BENCHMARK, CLASSICAL))
    ssim = "window_ssim"
    yield Requirement(f"SSIM of `{BENCHMARK}`", lambda store: store.mean(BENCHMARK, ssim), 0.975, SSIM)
    yield Requirement(f"`{PAPER_SIZES}` above `{SMALL}`", lead(PAPER_SIZES, (SMALL,)))
    yield Requirement(f"SSIM of `{PAPER_SIZES}` above `{SMALL}`", lead(PAPER_SIZES, (SMALL,), ssim), form=SSIM)
    yield Requirement("`cnnmar` above NMAR", lead("cnnmar", ("NMAR",)))
    for name in REDUCED:
        yield Requirement(f"`{name}` above LI", lead(name, ("LI",)))


def for_scans() -> Iterator[Requirement]:
    """Yield the requirements on test patients in the clinical protocol."""
    for other, limit in (("LI", 0.5), ("NMAR", 1.0)):
        what = f"soft-tissue RMSE of `{DEFAULT}` relative to {other}"
        yield Requirement(what, relative_rmse(DEFAULT, other, fmean), limit, SHARE, at_most=True)
        yield Requirement(f"{what}, medians", relative_rmse(DEFAULT, other, median), limit, SHARE, at_most=True)
    for place, where, limit in (("near", "near metal", 0.8), ("far", "far from metal", 0.95)):
        what = f"contrast of lesions {where} that `{DEFAULT}` keeps"
        yield Requirement(what, kept_contrast(DEFAULT, place), limit, SHARE)
    yield from unchanged_tissue()


def unchanged_tissue() -> Iterator[Requirement]:
    """Yield the requirements on needless changes."""
    for tissue, name in (("soft", "soft tissue"), ("bone", "bone")):
        for average, over in ((over_pixels, "mean of all pixels"), (over_slices, "mean of slice means")):
            what = f"needless change of {name} by `{DEFAULT}`, {over}"
            yield Requirement(what, needless_change(DEFAULT, tissue, average), 5.0, HU, at_most=True)


def requirements(stores: Mapping[tuple[str, str], StoreScores]) -> list[list[str]]:
    """Return all requirements as rows; stores are named by protocol and split."""
    asked = {
        ("syndeeplesion", "test"): for_benchmark(),
        ("clinical", "test"): for_scans(),
        ("syndeeplesion", "site_head"): [Requirement(f"`{BENCHMARK}` above LI and NMAR", lead(BENCHMARK, CLASSICAL))],
        ("clinical", "site_head"): [
            Requirement(f"`{DEFAULT}` above LI and NMAR", lead(DEFAULT, CLASSICAL)),
            *unchanged_tissue(),
        ],
    }
    return [one.row(stores[where]) for where, several in asked.items() for one in several]
