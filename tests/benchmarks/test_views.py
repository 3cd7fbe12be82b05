import numpy as np
import pytest

from benchmarks import views


def test_the_spread_of_streaks_is_that_of_fine_structures_near_metal() -> None:
    rows, columns = np.mgrid[:120, :120]
    clean = np.where(np.hypot(rows - 60, columns - 60) < 58, 50.0, -1000.0).astype(np.float32)
    metal = (np.abs(rows - 60) < 4) & (np.abs(columns - 60) < 4)
    where = views.soft_tissue(clean, metal, 1.0)
    assert not where[60, 68]
    assert where[60, 75]
    assert not where[60, 117]
    assert views.fine_spread(clean, where, 1.0) == pytest.approx(0, abs=3)
    streaks = clean + 20 * (-1.0) ** columns
    assert views.fine_spread(streaks.astype(np.float32), where, 1.0) == pytest.approx(20, rel=0.1)
    slow = clean + 20 * np.sin(columns / 20)
    assert views.fine_spread(slow.astype(np.float32), where, 1.0) < 4


def test_each_number_of_views_gets_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "SCANNED", (640, 984))
    monkeypatch.setattr(views, "PROJECTED", (640, 1280))
    table = views.measure(slabs=2, slab=2, size=96)
    assert [row[:2] for row in table.rows] == [("640", "640"), ("640", "1280"), ("984", "640"), ("984", "1280")]
    assert len({row[5] for row in table.rows}) == 1  # the truth
    assert float(table.rows[0][6]) > float(table.rows[0][5])
