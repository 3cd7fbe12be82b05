"""The demonstration from end to end: the main job on embedded data."""

from pathlib import Path

import numpy as np
import pytest

from acdnet.cli.demonstration.patients import PLANS, PROFILE, make_patient
from acdnet.cli.demonstration.run import MARK, run_demo
from acdnet.errors import InputRefused
from acdnet.io.dicom.scan import DicomScan


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.title)
def test_patients_are_scanned_with_their_metal(plan: object) -> None:
    patient = make_patient(plan)  # type: ignore[arg-type]
    assert patient.scanned.shape == patient.clean.shape == (len(PROFILE), 416, 416)
    for n, thinner in enumerate(PROFILE):
        assert patient.metal[n].any() == (thinner is not None)
        changed = np.abs(patient.scanned[n] - patient.clean[n]) > 5
        assert changed.any() == (thinner is not None)


def test_the_demonstration(tmp_path: Path) -> None:
    progress: list[str] = []
    demo = run_demo(tmp_path / "out", "default", progress.append)
    assert len(demo.rows) == len(PLANS)
    assert len(progress) == 2 * len(PLANS)
    for row in demo.rows:
        scanned, li, network = row.rmse
        assert network < min(scanned, li), row
        assert row.slices == sum(thinner is not None for thinner in PROFILE)
        assert len(row.lines()) == 2
    assert demo.picture.read_bytes().startswith(b"\x89PNG")
    for folder in demo.folders:
        assert len(DicomScan(folder if folder.name == "original" else folder / "reduced")) == len(PROFILE)
    assert (tmp_path / "out" / MARK).exists()


def test_a_folder_of_the_user_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(InputRefused, match="not empty"):
        run_demo(tmp_path)
    assert (tmp_path / "mine").read_text() == "mine"
