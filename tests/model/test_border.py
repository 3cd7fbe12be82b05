from dataclasses import replace

import numpy as np
import pytest
import torch

from acdnet.errors import InputRefused
from acdnet.model.border import DENSE_HU, decompose_hu, dense, reduced_hu, to_hu, to_network
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


@pytest.mark.parametrize("last", ["none", "beside"])
def test_bone_that_both_images_know_is_kept_whatever_the_network_does(last: str) -> None:
    """However dense it is, the rest of the image and the artifact are found as if it were just dense."""
    rng = np.random.default_rng(0)
    model = make_model()
    model.config = replace(model.config, last=last)
    metal = np.zeros((13, 18), bool)
    metal[5:7, 8:10] = True
    image = rng.normal(0, 50, (13, 18)).astype(np.float32)
    bone = np.zeros((13, 18), np.float32)
    bone[2:4, 2:9] = 1000.0
    corrupted, network = image + rng.normal(0, 50, (13, 18)).astype(np.float32), InferenceACDNet(model)
    image[bone > 0] = corrupted[bone > 0] = DENSE_HU
    plain, denser = (decompose_hu(network, corrupted + b, image + b, metal) for b in (0 * bone, bone))
    images = zip((*denser.images, denser.image), (*plain.images, plain.image), strict=True)
    taken = [to_hu(one) - to_hu(other) - bone for one, other in images]
    taken.append((denser.artifacts[-1] - plain.artifacts[-1])[0, 0].numpy())
    untouched = all(np.allclose(one, 0.0, atol=0.1) for one in taken)
    assert untouched == (last == "beside")


def test_what_only_one_image_shows_is_no_bone() -> None:
    """A streak, or metal: it is left to the network."""
    Y, X1 = to_network(np.full((3, 4), 2000.0, np.float32)), to_network(np.full((3, 4), 600.0, np.float32))
    everywhere = torch.ones(1, 1, 3, 4, dtype=torch.bool)
    assert dense(Y, X1, everywhere).max() == 0 == dense(X1, Y, everywhere).max()
    assert dense(Y, Y, everywhere).min() > 0 == dense(Y, Y, ~everywhere).max()
    assert dense(Y * torch.nan, Y, ~everywhere).max() == 0


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
