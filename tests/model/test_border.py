import numpy as np
import torch

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
