"""Every method gives the same array, bit for bit, through every interface."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import acdnet
from acdnet.data.pairs import PairInfo
from acdnet.data.store import Pair
from acdnet.evaluate.case import Case
from acdnet.evaluate.entrants import get_entrants
from acdnet.methods.registry import CLASSICAL, get_method
from acdnet.train import validate as validation
from acdnet.viewer.result import open_result
from acdnet.viewer.stages import StageView
from acdnet.weights.save import save_model
from tests.methods.make import NETWORKS, make_network
from tests.reduction.make import body, run

MM = 2.0
Image = NDArray[np.float32]


@pytest.fixture(scope="module")
def hu() -> Image:
    noise = np.random.default_rng(0).normal(0, 20, (96, 96))
    return np.asarray(body() + np.where(body() > 2500, 0, noise), np.float32)


@pytest.fixture(scope="module")
def mask(hu: Image) -> NDArray[np.bool_]:
    return hu > 2500


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return every method: classical ones by name, a small network of every kind by file."""
    folder = tmp_path_factory.mktemp("models")
    found = {name: name for name in CLASSICAL}
    for name in NETWORKS:
        found[name] = str(folder / f"{name}.safetensors")
        save_model(make_network(name), Path(found[name]), name=name, summary="for a test")
    return found


@pytest.fixture(scope="module")
def case(hu: Image, mask: NDArray[np.bool_]) -> Case:
    return Case(PairInfo("a", "a", "", None), Pair(hu, hu, hu, mask), "clinical", MM, None)


@pytest.mark.parametrize("name", [*CLASSICAL, *NETWORKS])
def test_every_door_gives_the_same_array(
    name: str, models: dict[str, str], hu: Image, mask: NDArray[np.bool_], case: Case, tmp_path: Path
) -> None:
    method = models[name]
    python = acdnet.reduce(hu, (MM, MM), method, mask=mask).hu

    np.save(tmp_path / "scan.npy", hu)
    np.save(tmp_path / "mask.npy", mask)
    options = ("--pixel-mm", MM, "--mask", tmp_path / "mask.npy", "--method", method)
    assert run("reduce", tmp_path / "scan.npy", tmp_path / "out", *options).code == 0
    command_line = np.load(tmp_path / "out" / "reduced.npy")

    (entrant,) = get_entrants([method])
    evaluated = entrant(case.measurement()).image_hu

    assert not np.array_equal(python, hu)
    np.testing.assert_array_equal(command_line, python)
    np.testing.assert_array_equal(np.where(mask, hu, evaluated), python)
    np.testing.assert_array_equal(np.where(mask, hu, _validated(method, case)), python)
    if name.startswith("acdnet"):
        decomposed = acdnet.decompose(hu, mask, (MM, MM), method).image_hu
        np.testing.assert_array_equal(np.where(mask, hu, decomposed), python)


@pytest.mark.parametrize("name", [name for name in NETWORKS if name.startswith("acdnet")])
def test_the_viewer_shows_the_same_array(
    name: str, models: dict[str, str], hu: Image, mask: NDArray[np.bool_], tmp_path: Path
) -> None:
    """A scan of whole numbers, which the viewer recovers exactly from a result and its difference."""
    whole = np.rint(hu).astype(np.int16)
    np.save(tmp_path / "scan.npy", whole)
    np.save(tmp_path / "mask.npy", mask)
    options = ("--pixel-mm", MM, "--mask", tmp_path / "mask.npy", "--method", models[name])
    assert run("reduce", tmp_path / "scan.npy", tmp_path / "out", *options).code == 0

    shown = StageView(open_result(tmp_path / "out"), models[name]).stages(0).images[-1]

    image = acdnet.decompose(whole, mask, (MM, MM), models[name]).image_hu
    np.testing.assert_array_equal(shown, np.where(mask, whole, image))
    written = np.load(tmp_path / "out" / "reduced.npy")
    np.testing.assert_array_equal(written, whole + np.where(mask, 0, np.rint(image.astype(float) - whole)))


def _validated(method: str, case: Case) -> Image:
    """Return the image that validation during training scores."""
    seen: list[Image] = []

    def note(image: Image, *_: object) -> float:
        seen.append(image)
        return 0.0

    class OnePair:
        protocol = case.protocol

        def infos(self) -> list[PairInfo]:
            return [case.info]

        def read(self, _index: int) -> Pair:
            return case.pair

        def pixel_mm(self, _index: int) -> float:
            return MM

        def sinogram(self, _index: int) -> None:
            return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validation, "window_psnr", note)
        validation.validate(get_method(method), [OnePair()], 1)  # type: ignore[list-item]
    return seen[-1]
