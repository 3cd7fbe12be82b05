"""Small slices with metal, and the measurement of each."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch

from acdnet.config import ACDNetConfig, CNNMARConfig, DSCMARConfig, DuDoNetConfig, DuDoNetPlusConfig, NetworkConfig
from acdnet.evaluate.metrics import hu_rmse
from acdnet.methods.registry import get_method
from acdnet.physics.geometry import FanBeam
from acdnet.physics.implants.anatomy import find_anatomy
from acdnet.physics.implants.draw import draw_implant
from acdnet.physics.measurement import Measurement
from acdnet.physics.phantom import make_phantom
from acdnet.physics.scanner import Simulation
from acdnet.physics.simulate import simulate
from acdnet.units import Image, Mask
from acdnet.weights.networks import Network, build
from tests.helpers import TINY, make_model

SIZE = 48
SCANNER = FanBeam(SIZE, pixel_cm=0.5, views=160, bins=75, bin_cm=0.85, source_cm=60.0, detector_cm=50.0)
"""With few rays, so that tensor operations are quick on a CPU."""

NETWORKS: dict[str, NetworkConfig] = {
    "acdnet": TINY,
    "acdnet-tracefit": replace(TINY, first="tracefit", last="trace_correction"),
    "acdnet-coarse": replace(TINY, coarse=2, last="trace_correction"),
    "acdnet-wide": replace(TINY, N_p=32),  # has another convolution on CPUs
    "cnnmar": CNNMARConfig(width=4, layers=2),
    "dudonet": DuDoNetConfig(width=2),
    "dscmar": DSCMARConfig(width=2),
    "dudonet++": DuDoNetPlusConfig(width=2),
}
"""Small networks of every kind."""


def make_network(name: str) -> Network:
    """Build a small random network."""
    config = NETWORKS[name]
    torch.manual_seed(0)
    return make_model(config) if isinstance(config, ACDNetConfig) else build(config).eval()


def slice_with_metal(rows: int = SIZE, columns: int = SIZE, at: tuple[float, float] = (2, -6)) -> tuple[Image, Mask]:
    """Return a noisy disc of water with a bone, and a piece of metal (rows, columns from the middle) with a streak."""
    y, x = np.mgrid[:rows, :columns] - np.array([(rows - 1) / 2, (columns - 1) / 2])[:, None, None]
    hu = np.where(x**2 + y**2 < 20**2, np.random.default_rng(0).normal(20, 10, x.shape), -1000.0)
    hu[(x - 8) ** 2 + y**2 < 16] = 900.0
    metal = (y - at[0]) ** 2 + (x - at[1]) ** 2 < 5
    streak = 200 * np.sin(x / 2) * np.exp(-((y - at[0]) ** 2) / 12)
    hu += np.where(hu > -900, streak, 0.0)
    return np.where(metal, 4000.0, hu).astype(np.float32), np.asarray(metal)


@cache
def phantom_scan(
    site: str,
    protocol: str = "clinical",
    seed: int = 3,
    kinds: tuple[str, ...] = (),
    metal: str = "CoCrMo",
    size: int = 208,
) -> Simulation:
    """Simulate the scan of a phantom with an implant."""
    phantom = make_phantom(site, seed, size)
    anatomy = find_anatomy(phantom.hu, phantom.pixel_mm)
    implant = draw_implant(anatomy, np.random.default_rng(seed), kinds or phantom.kinds)
    return simulate(phantom.hu, implant.mask, protocol, seed, phantom.pixel_mm, metal)


def errors(made: Simulation, *names: str) -> list[float]:
    """Return the error in HU that each method leaves in the body."""
    body = (made.clean > -500) & ~made.metal
    images = [get_method(name, "cpu")(made.measurement()).image_hu for name in names]
    return [hu_rmse(image, made.clean, body) for image in images]


def measure(at: tuple[float, float] = (2, -6), **values: Any) -> Measurement:
    """Return the measurement of a small slice in the small scanner."""
    hu, metal = slice_with_metal(at=at)
    mm = 10 * SCANNER.pixel_cm
    return Measurement(hu, metal, (mm, mm), scanner=SCANNER, **values)
