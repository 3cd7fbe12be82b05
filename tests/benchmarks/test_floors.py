"""What is asked of the models: each sort of floor holds and fails where it should."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.floors import BENCHMARK, DEFAULT, PAPER_SIZES, SMALL, Scored, table


def row(method: str, psnr: float, metal: int = 9, soft: float = 20.0, **others: Any) -> dict[str, Any]:
    scores = {"window_psnr": psnr, "window_ssim": psnr / 50, "rmse_soft_hu": soft}
    return {"method": method, "metal_pixels": metal, **scores, **others}


def line(text: str, begin: str, where: str) -> list[str]:
    (found,) = [row for row in text.splitlines() if row.startswith(f"| {begin} | {where} |")]
    return [cell.strip() for cell in found.strip("|").split("|")][2:]


@pytest.fixture
def stores() -> list[Scored]:
    bench = [row("LI", 36.0), row("NMAR", 37.0, 900), row("LI", 38.0, 900), row("NMAR", 34.0)]
    bench += [row(BENCHMARK, 43.0), row(BENCHMARK, 45.0, 900)]
    bench += [row(SMALL, 46.0), row(SMALL, 44.5, 900), row("dudonet-s", 36.5), row("dudonet-s", 37.0, 900)]
    left: dict[str, Any] = {"needless_soft_hu": 1.0, "needless_soft_pixels": 5}
    few: dict[str, Any] = {"needless_bone_hu": 12.0, "needless_bone_pixels": 1}
    many: dict[str, Any] = {"needless_bone_hu": 2.0, "needless_bone_pixels": 99}
    clinical = [row("LI", 38.0, soft=40.0), row("NMAR", 39.0, soft=18.0)]
    clinical += [row(DEFAULT, 45.0, soft=20.0, **left, **few), row(DEFAULT, 45.0, soft=20.0, **left, **many)]
    kept = [{"method": DEFAULT, "place": "near", "kept": kept} for kept in (0.6, 1.3)]
    return [Scored("a", bench), Scored("b", clinical, kept), Scored("c", bench[:4]), Scored("d", clinical)]


def test_what_holds_and_what_does_not(stores: list[Scored]) -> None:
    text = table(*stores)
    assert line(text, f"`{BENCHMARK}` above LI", "a") == ["at least 6.00 dB", "7.00 dB", "yes"]
    least = f"`{BENCHMARK}` above LI and NMAR, at the size of metal where it is least"
    assert line(text, least, "a") == ["at least 0.00 dB", "7.00 dB", "yes"]
    assert line(text, f"`{PAPER_SIZES}` above `{SMALL}`", "a") == ["at least 0.00 dB", "-1.25 dB", "**no**"]
    assert line(text, f"RMSE of `{DEFAULT}` in soft tissue, of LI's", "b") == ["at most 50.0%", "50.0%", "yes"]
    assert line(text, f"RMSE of `{DEFAULT}` in soft tissue, of NMAR's", "b")[-1] == "**no**"
    assert line(text, f"RMSE of `{DEFAULT}` in soft tissue, of LI's, medians", "b")[1:] == ["50.0%", "yes"]
    bone = f"change by `{DEFAULT}` of bone that needs none, mean of "
    assert line(text, bone + "pixels", "b") == ["at most 5.0 HU", "2.1 HU", "yes"]
    assert line(text, bone + "pixels", "d")[-1] == "yes"
    assert line(text, bone + "slices' means", "b") == ["at most 5.0 HU", "7.0 HU", "**no**"]
    assert line(text, f"contrast of lesions near metal kept by `{DEFAULT}`", "b")[1:] == ["80.0%", "yes"]
    assert line(text, "`dudonet-s` above LI", "a")[-1] == "**no**"


def test_what_was_not_scored_says_so(stores: list[Scored]) -> None:
    text = table(*stores)
    assert line(text, "`cnnmar` above NMAR", "a") == ["at least 0.00 dB", "-", "not scored"]
    assert line(text, f"`{BENCHMARK}` above LI and NMAR", "c")[-1] == "not scored"
    nothing = table(*(Scored(store.title, ()) for store in stores))
    assert nothing.count("not scored") == text.count("\n") - 1
