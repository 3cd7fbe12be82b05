"""The exported file computes what the network computes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from acdnet.errors import InputRefused
from acdnet.weights.card import Card
from acdnet.weights.export import export_onnx
from tests.helpers import SMALL, make_input, make_model

onnxruntime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.filterwarnings("ignore")


COARSE = replace(SMALL, coarse=2, last="trace_correction")


@pytest.fixture(scope="module", params=[SMALL, COARSE], ids=["plain", "coarse"])
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    path = tmp_path_factory.mktemp("onnx") / f"{request.param.coarse}.onnx"
    model = make_model(request.param)
    count = model.config.count_parameters()
    card = Card("m", "", "acdnet", model.config, count, sha256="0" * 64, version="0")
    return path, export_onnx(model, card, path)


@pytest.mark.parametrize("size", [(33, 70), (128, 96)])
def test_sizes_that_export_never_saw(exported: tuple[Path, float], size: tuple[int, int]) -> None:
    path, off = exported
    assert off < 1e-2
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    coarse = path.stem == "2"
    Y, X_li, I = make_input(1, *(side // 4 * 4 if coarse else side for side in size))
    image, artifact = session.run(None, {"Y": Y.numpy(), "X_li": X_li.numpy(), "I": I.float().numpy()})
    with torch.no_grad():
        expected = make_model(COARSE if coarse else SMALL)(Y, X_li, I)
    np.testing.assert_allclose(image, expected.image.numpy(), atol=1e-2)
    np.testing.assert_allclose(artifact, expected.artifacts[-1].numpy(), atol=1e-2)


def test_the_file_describes_itself(exported: tuple[Path, float]) -> None:
    session = onnxruntime.InferenceSession(exported[0], providers=["CPUExecutionProvider"])
    metadata = session.get_modelmeta().custom_metadata_map
    assert "research use only" in metadata["notice"].lower()
    assert "0.192" in metadata["units"]
    assert metadata["X_li is made by"] == "li"
    assert ("image" in metadata) == (exported[0].stem == "2")  # what `reduce` gives back is not in it


def test_another_ending_is_refused(exported: tuple[Path, float]) -> None:
    model = make_model()
    with pytest.raises(InputRefused, match="onnx"):
        export_onnx(model, Card("m", "", "acdnet", model.config, 0, "", ""), exported[0].with_suffix(".safetensors"))


def test_an_existing_file_is_kept(exported: tuple[Path, float]) -> None:
    path, _ = exported
    before = path.read_bytes()
    model = make_model()
    with pytest.raises(InputRefused, match="already exists"):
        export_onnx(model, Card("m", "", "acdnet", model.config, 0, "", ""), path)
    assert path.read_bytes() == before
