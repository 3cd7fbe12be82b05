from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import acdnet
from acdnet.data.pairs import open_pairs
from acdnet.errors import InputRefused
from acdnet.evaluate.case import Case
from acdnet.evaluate.metrics import score
from acdnet.methods.acdnet import ACDNetMethod
from acdnet.methods.registry import get_method
from acdnet.weights.save import save_model
from tests.helpers import SMALL, make_model
from tests.train.make import small_store


def test_li_is_that_of_the_pair_where_raw_data_made_it(benchmark_store: Path) -> None:
    case = Case.read(open_pairs(benchmark_store), 1)
    assert np.array_equal(get_method("li", "cpu")(case.measurement()).image_hu, case.pair.li)


def test_li_is_computed_from_the_image_in_the_clinical_protocol(clinical_store: Path) -> None:
    case = Case.read(open_pairs(clinical_store), 1)
    ours = get_method("li", "cpu")(case.measurement()).image_hu
    difference = np.abs(ours - case.pair.li)
    assert 0 < difference.mean() < 1.0  # that of the store was made before the image was rounded


def test_a_pair_of_unknown_pixel_size_is_refused(clinical_store: Path) -> None:
    case = replace(Case.read(open_pairs(clinical_store), 0), pixel_mm=None)
    with pytest.raises(InputRefused, match="pixel size"):
        case.measurement()


def test_raw_data_are_required_where_they_are_needed(tmp_path: Path) -> None:
    case = Case.read(open_pairs(small_store(tmp_path, 1)), 0)
    with pytest.raises(InputRefused, match="--sinograms"):
        get_method("nmar", "cpu")(case.measurement())
    assert np.array_equal(get_method("li", "cpu")(case.measurement()).image_hu, case.pair.li)


def test_a_network_starts_from_what_it_was_trained_with(clinical_store: Path, tmp_path: Path) -> None:
    models = {name: make_model(replace(SMALL, first=name)) for name in ("li", "tracefit")}
    case = Case.read(open_pairs(clinical_store), 1)
    results = {}
    for name, model in models.items():
        save_model(model, tmp_path / f"{name}.safetensors", name=name, summary="for a test")
        results[name] = get_method(str(tmp_path / f"{name}.safetensors"), "cpu")(case.measurement()).image_hu
    first = get_method("tracefit", "cpu")(case.measurement()).image_hu
    given = replace(case.measurement(), given={"li": first})
    np.testing.assert_allclose(results["tracefit"], ACDNetMethod(models["li"])(given).image_hu, atol=1e-3)
    assert np.abs(results["tracefit"] - results["li"]).max() > 1
    mm = (case.pixel_mm or 1.0,) * 2
    weights = str(tmp_path / "tracefit.safetensors")
    reduced = acdnet.reduce(case.pair.corrupted, mm, weights, mask=case.pair.metal).hu
    tissue = ~case.pair.metal & (np.abs(case.pair.corrupted) < 900)
    np.testing.assert_allclose(reduced[tissue], results["tracefit"][tissue], atol=0.1)


def test_the_metal_of_the_input_does_not_move_the_paper_score(clinical_store: Path) -> None:
    """Its bright pixels would stretch the range of the image; metal is taken out before that."""
    pair = (case := Case.read(open_pairs(clinical_store), 1)).pair
    image = get_method("acdnet", "cpu")(case.measurement()).image_hu
    brighter = np.where(pair.metal, image.max() + 1000, image).astype(np.float32)
    scored = score(image, pair.clean, pair.metal)
    assert score(brighter, pair.clean, pair.metal) == scored
    assert score(brighter, pair.clean, np.zeros_like(pair.metal)).paper_psnr < scored.paper_psnr
