"""Requirements hold, fail or are not scored, on made-up scores."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.floors import BENCHMARK, DEFAULT, PAPER_SIZES, SMALL, requirements
from benchmarks.results_scores import StoreScores

Stores = dict[tuple[str, str], StoreScores]


def row(method: str, psnr: float, metal: int = 9, soft: float = 20.0, **others: Any) -> dict[str, Any]:
    scores = {"window_psnr": psnr, "window_ssim": psnr / 50, "rmse_soft_hu": soft}
    return {"method": method, "metal_pixels": metal, **scores, **others}


def store(protocol: str, split: str, rows: list[dict[str, Any]], lesions: list[dict[str, Any]]) -> StoreScores:
    return StoreScores(protocol, split, [], rows, lesions)


@pytest.fixture
def stores() -> Stores:
    bench = [row("LI", 36.0), row("NMAR", 37.0, 900), row("LI", 38.0, 900), row("NMAR", 34.0)]
    bench += [row(BENCHMARK, 43.0), row(BENCHMARK, 45.0, 900)]
    bench += [row(SMALL, 46.0), row(SMALL, 44.5, 900), row("dudonet-s", 36.5), row("dudonet-s", 37.0, 900)]
    soft: dict[str, Any] = {"needless_soft_hu": 1.0, "needless_soft_pixels": 5}
    few: dict[str, Any] = {"needless_bone_hu": 12.0, "needless_bone_pixels": 1}
    many: dict[str, Any] = {"needless_bone_hu": 2.0, "needless_bone_pixels": 99}
    clinical = [row("LI", 38.0, soft=40.0), row("NMAR", 39.0, soft=18.0)]
    clinical += [row(DEFAULT, 45.0, soft=20.0, **soft, **few), row(DEFAULT, 45.0, soft=20.0, **soft, **many)]
    kept = [{"method": DEFAULT, "place": "near", "kept": kept} for kept in (0.6, 1.3)]
    return {
        ("syndeeplesion", "test"): store("syndeeplesion", "test", bench, []),
        ("clinical", "test"): store("clinical", "test", clinical, kept),
        ("syndeeplesion", "site_head"): store("syndeeplesion", "site_head", bench[:4], []),
        ("clinical", "site_head"): store("clinical", "site_head", clinical, []),
    }


def found(rows: list[list[str]], what: str, where: str) -> list[str]:
    (cells,) = [row[2:] for row in rows if row[:2] == [what, where]]
    return cells


def test_requirements_that_hold_and_that_fail(stores: Stores) -> None:
    rows, bench, clinical = requirements(stores), "test, syndeeplesion", "test, clinical"
    assert found(rows, f"`{BENCHMARK}` above LI", bench) == ["at least 6.00 dB", "7.00 dB", "yes"]
    least = f"`{BENCHMARK}` above LI and NMAR, at the metal size with the smallest lead"
    assert found(rows, least, bench) == ["at least 0.00 dB", "7.00 dB", "yes"]
    assert found(rows, f"SSIM of `{BENCHMARK}`", bench) == ["at least 0.9750", "0.8800", "no"]
    assert found(rows, f"`{PAPER_SIZES}` above `{SMALL}`", bench) == ["at least 0.00 dB", "-1.25 dB", "no"]
    assert found(rows, "`dudonet-s` above LI", bench)[1:] == ["-0.25 dB", "no"]
    rmse = f"soft-tissue RMSE of `{DEFAULT}` relative to "
    assert found(rows, f"{rmse}LI", clinical) == ["at most 50.0%", "50.0%", "yes"]
    assert found(rows, f"{rmse}NMAR", clinical)[1:] == ["111.1%", "no"]
    bone = f"needless change of bone by `{DEFAULT}`, mean of "
    assert found(rows, f"{bone}all pixels", clinical) == ["at most 5.0 HU", "2.1 HU", "yes"]
    assert found(rows, f"{bone}slice means", "site_head, clinical")[1:] == ["7.0 HU", "no"]
    near = f"contrast of lesions near metal that `{DEFAULT}` keeps"
    assert found(rows, near, clinical) == ["at least 80.0%", "80.0%", "yes"]


def test_the_medians_ignore_a_single_bad_slice(stores: Stores) -> None:
    bad = [row(DEFAULT, 45.0, soft=20.0)] * 2 + [row(DEFAULT, 30.0, soft=90.0), row("LI", 38.0, soft=40.0)]
    stores["clinical", "test"] = store("clinical", "test", bad, [])
    rows, what = requirements(stores), f"soft-tissue RMSE of `{DEFAULT}` relative to LI"
    assert found(rows, what, "test, clinical")[-1] == "no"
    assert found(rows, f"{what}, medians", "test, clinical")[-1] == "yes"


def test_requirements_that_were_not_scored(stores: Stores) -> None:
    rows = requirements(stores)
    assert found(rows, "`cnnmar` above NMAR", "test, syndeeplesion") == ["at least 0.00 dB", "-", "not scored"]
    assert found(rows, f"`{BENCHMARK}` above LI and NMAR", "site_head, syndeeplesion")[-1] == "not scored"
    nothing = requirements({key: store(*key, [], []) for key in stores})
    assert [row[:3] for row in nothing] == [row[:3] for row in rows]
    assert {row[-1] for row in nothing} == {"not scored"}
