import numpy as np
import pytest
import torch

from acdnet.errors import InputRefused
from acdnet.model.border import decompose_hu, reduced_hu, to_hu, to_network
from acdnet.model.inference import InferenceACDNet
from tests.helpers import make_model


def test_there_and_back() -> None:
    hu = np.linspace(-1000, 4000, 13 * 18, dtype=np.float32).reshape(13, 18)
    there = to_network(hu)
    assert there.shape == (1, 1, 13, 18)
    assert there.dtype == torch.float32
    np.testing.assert_allclose(to_hu(there), hu, atol=1e-2)


def test_metal_is_put_back_as_it_was() -> None:
    rng = np.random.default_rng(0)
    corrupted = rng.normal(0, 100, (13, 18)).astype(np.float32)
    metal = rng.random((13, 18)) < 0.1
    corrupted[metal] = 12345.0
    found = decompose_hu(InferenceACDNet(make_model()), corrupted, corrupted, metal)
    reduced = reduced_hu(found, corrupted, metal)
    assert (reduced[metal] == 12345.0).all()
    assert reduced.dtype == np.float32
    assert reduced.shape == (13, 18)


def test_a_mask_of_numbers_means_the_same() -> None:
    rng = np.random.default_rng(0)
    image = rng.normal(0, 100, (13, 18)).astype(np.float32)
    metal = rng.random((13, 18)) < 0.1
    model = InferenceACDNet(make_model())
    expected = decompose_hu(model, np.where(metal, np.nan, image).astype(np.float32), image, metal).image
    assert expected.isfinite().all()
    for kind in (np.uint8, np.int64, np.float32):
        assert torch.equal(decompose_hu(model, image, image, metal.astype(kind)).image, expected)


def test_what_cannot_be_used_is_refused() -> None:
    model, metal = InferenceACDNet(make_model()), np.zeros((13, 18), bool)
    image = np.zeros((13, 18), np.float32)
    broken = np.full((13, 18), np.nan, np.float32)
    grey = np.linspace(-1000, 3000, 13 * 18, dtype=np.float32).reshape(13, 18)
    for arguments, message in (
        ((image, image[:5], metal), "of one size"),
        ((image, image, metal.T), "of one size"),
        ((image[None], image, metal), "one slice"),
        ((image[:0], image, metal), "one slice"),
        ((image.astype(complex), image, metal), "one slice"),
        ((None, image, metal), "one slice"),
        ((image, broken, metal), "image to begin with holds"),
        ((broken, image, metal), "outside the metal"),
        ((image, image, ~metal), "inverted"),
        ((image, image, broken), "true or false"),
        ((image, image, grey), "true or false"),
    ):
        with pytest.raises(InputRefused, match=message):
            decompose_hu(model, *arguments)
    found = decompose_hu(model, image, image, metal)
    with pytest.raises(InputRefused, match="made from"):
        reduced_hu(found, image[:5], metal[:5])
    assert reduced_hu(found, image.astype(np.float64), metal).dtype == np.float32
