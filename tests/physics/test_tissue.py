import torch

from acdnet.physics.tissue import split


def test_tissues() -> None:
    mu = torch.tensor([0.0, 0.192, 0.2112, 0.3, 0.48, 0.9])
    water, bone = split(mu)
    assert torch.allclose(water + bone, mu)
    assert bone[:3].abs().max() < 1e-6
    assert torch.allclose(bone[4:], mu[4:])
    assert torch.isclose(bone[3], torch.tensor(0.3 * (0.3 - 0.2112) / (0.48 - 0.2112)))
