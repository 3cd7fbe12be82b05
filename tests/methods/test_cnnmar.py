from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from acdnet.config import CNNMARConfig
from acdnet.methods.cnnmar import CNNMARMethod, make_prior, three_images
from acdnet.methods.learned.cnnmar import CNNMAR
from acdnet.physics.measurement import Measurement, attenuation
from acdnet.physics.projector import project
from acdnet.units import WATER_MU
from tests.methods.make import SCANNER, SIZE, measure


def test_metal_and_its_neighbours_are_water_for_the_network() -> None:
    measurement = measure()
    images = three_images(measurement)
    assert images.shape == (3, *measurement.image.shape)
    assert images.min() >= 0
    rows, columns = np.nonzero(measurement.metal)
    for dy, dx in ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)):
        assert torch.all(images[:, rows + dy, columns + dx] == torch.tensor(WATER_MU))
    far = np.s_[:, :10, :10]
    torch.testing.assert_close(images[far][0], attenuation(measurement.image)[:10, :10])


def test_prior_is_flat_in_tissue_and_true_in_bone_and_air() -> None:
    y, x = np.mgrid[:64, :64] - 31.5
    rng = np.random.default_rng(0)
    hu = np.where(x**2 + y**2 < 28**2, rng.normal(30, 40, x.shape), -1000.0)
    hu[(x - 10) ** 2 + y**2 < 16] = 900.0
    metal = (x + 12) ** 2 + y**2 < 9
    hu[metal] = 8000.0
    prior = make_prior(hu.astype(np.float32), metal)
    inner = (x**2 + y**2 < 20**2) & ((x - 10) ** 2 + y**2 > 12**2)
    assert prior[inner].std() < 2
    assert abs(prior[inner].mean() - 30) < 10
    assert np.all(prior[(x - 10) ** 2 + y**2 < 9] == 900)
    assert np.all(prior[x**2 + y**2 > 31**2] == -1000)


def test_a_slice_of_one_value_does_not_break_the_clusters() -> None:
    flat = np.full((16, 16), 40.0, np.float32)
    assert np.array_equal(make_prior(flat, np.zeros((16, 16), bool)), flat)


def test_rays_that_miss_the_metal_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    measurement = measure()
    given: list[torch.Tensor] = []
    reconstruct = Measurement.reconstruct

    def seen(self: Measurement, sinogram: torch.Tensor) -> NDArray[np.float32]:
        given.append(sinogram)
        return reconstruct(self, sinogram)

    monkeypatch.setattr(Measurement, "reconstruct", seen)
    torch.manual_seed(0)
    image = CNNMARMethod(CNNMAR(CNNMARConfig()))(measurement).image_hu
    completed, trace = given[-1], measurement.trace
    assert image.shape == measurement.image.shape
    torch.testing.assert_close(completed[~trace], measurement.sinogram[~trace])
    assert (completed[trace] - measurement.sinogram[trace]).abs().max() > 0.1


def test_a_perfect_prior_restores_the_slice() -> None:
    """With the true image as the prior, next to nothing is left to interpolate."""
    y, x = np.mgrid[:SIZE, :SIZE] - (SIZE - 1) / 2
    clean = np.where(x**2 + y**2 < 13**2, 0.0, -1000.0).astype(np.float32)
    metal = (x + 4) ** 2 + (y - 2) ** 2 < 3

    class Knows(CNNMAR):
        def forward(self, images: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
            return attenuation(clean)[None, None]

    measurement = Measurement.of_square(np.where(metal, np.float32(4000), clean), metal, SCANNER)
    image = CNNMARMethod(Knows(CNNMARConfig()))(measurement).image_hu
    sinogram = torch.where(measurement.trace, project(attenuation(clean), SCANNER), measurement.sinogram)
    best = measurement.reconstruct(sinogram)
    assert np.abs(image - best).max() < 1


def test_an_li_image_that_came_with_the_slice_is_used() -> None:
    torch.manual_seed(0)
    method, measurement = CNNMARMethod(CNNMAR(CNNMARConfig())), measure()
    alone = method(measurement).image_hu
    given = {"li": method(measurement).image_hu + np.float32(100.0)}
    assert not np.array_equal(method(replace(measure(), given=given)).image_hu, alone)
