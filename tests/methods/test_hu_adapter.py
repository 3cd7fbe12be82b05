from dataclasses import replace

import numpy as np
import pytest
import torch

from acdnet.methods.hu_adapter import above_range, clip_to_range, dense_bone, to_hu, to_network, with_bone
from acdnet.units import HU_CEILING
from tests.helpers import make_input, make_model


def test_to_the_network_and_back() -> None:
    hu = np.linspace(-1000, 4000, 13 * 18, dtype=np.float32).reshape(13, 18)
    image = to_network(hu)
    assert image.shape == (1, 1, 13, 18)
    assert image.dtype == torch.float32
    np.testing.assert_allclose(to_hu(image), hu, atol=1e-2)


def test_values_beyond_the_range_are_clipped() -> None:
    hu = np.array([[-3000.0, -1000.0, 50.0], [4000.0, 5000.0, 1e6]], np.float32)
    np.testing.assert_allclose(clip_to_range(hu), np.clip(hu, -1000.0, HU_CEILING), atol=1e-2)


def test_only_metal_that_stayed_bright_keeps_its_values_above_the_range() -> None:
    hu = np.array([[9000.0, 9000.0, 50.0]], np.float32)
    X = np.array([[HU_CEILING, 60.0, 50.0]], np.float32)
    np.testing.assert_allclose(X + above_range(hu, X), [[9000.0, 60.0, 50.0]], atol=1e-2)


def test_bone_must_be_in_both_images() -> None:
    """A streak or metal, which one of them lacks, is left to the network."""
    Y, X1 = to_network(np.full((3, 4), 2000.0, np.float32)), to_network(np.full((3, 4), 600.0, np.float32))
    everywhere = torch.ones(1, 1, 3, 4, dtype=torch.bool)
    assert dense_bone(Y, X1, everywhere).max() == 0 == dense_bone(X1, Y, everywhere).max()
    assert dense_bone(Y, Y, everywhere).min() > 0 == dense_bone(Y, Y, ~everywhere).max()
    assert dense_bone(Y * torch.nan, Y, ~everywhere).max() == 0


@pytest.mark.parametrize("hu", [600.0, 900.0, 1500.0])
def test_bone_denser_than_the_limit_is_taken_off(hu: float) -> None:
    Y = to_network(np.full((3, 4), hu, np.float32))
    B = dense_bone(Y, Y, torch.ones(1, 1, 3, 4, dtype=torch.bool))
    np.testing.assert_allclose(to_hu(Y - B), 600.0, atol=1e-2)


def test_bone_is_added_to_images_and_not_to_artifacts() -> None:
    with torch.no_grad():
        found = make_model()(*make_input(2, 13, 18), details=True)
    B = torch.rand_like(found.image)
    added = with_bone(found, B)
    for before, after in zip(
        (found.image, *found.images, *found.start_images),
        (added.image, *added.images, *added.start_images),
        strict=True,
    ):
        torch.testing.assert_close(after, before + B)
    names = ("image", "images", "start_images")
    unchanged = replace(added, **{name: getattr(found, name) for name in names})
    assert unchanged == found
