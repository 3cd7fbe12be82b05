"""The Metal Artifact Reduction Sequence of DICOM 2026b."""

from pathlib import Path
from typing import Any

import pydicom
from pydicom.dataset import Dataset

import acdnet
from tests.reduction.make import reduce, run, series


def mar(file: Path) -> list[Any]:
    return list(pydicom.dcmread(file)[0x00189390].value)


def test_derived_slices_say_whether_and_by_what_they_were_reduced(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (False, True))
    assert reduce(source, tmp_path / "li").code == 0
    assert run("reduce", source, tmp_path / "net").code == 0
    for kind in ("reduced", "difference"):
        (unchanged,) = mar(tmp_path / "li" / kind / "0001.dcm")
        assert unchanged[0x00189391].value == "NO"
        assert 0x00189392 not in unchanged
        for folder, family, name in (
            ("li", "SINOGRAM", "acdnet, method li"),
            ("net", "123110", "acdnet, method acdnet"),
        ):
            (item,) = mar(tmp_path / folder / kind / "0002.dcm")
            assert (item[0x00189391].VR, item[0x00189391].value) == ("CS", "YES")
            (algorithm,) = item[0x00189392].value
            assert algorithm.AlgorithmFamilyCodeSequence[0].CodeValue == family
            assert algorithm.AlgorithmName == name
            assert algorithm.AlgorithmVersion == acdnet.__version__


def test_what_the_scanner_did_is_kept(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (False, True))
    theirs = Dataset()
    theirs.add_new(0x00189391, "CS", "NO")
    for file in source.iterdir():
        dataset = pydicom.dcmread(file)
        dataset.add_new(0x00189390, "SQ", [theirs])
        dataset.save_as(file)
    assert reduce(source, tmp_path / "out").code == 0
    said = [[item[0x00189391].value for item in mar(tmp_path / f"out/reduced/000{n}.dcm")] for n in (1, 2)]
    assert said == [["NO"], ["NO", "YES"]]
