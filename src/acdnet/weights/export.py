"""Export a model to ONNX and compare the file with the network."""

from __future__ import annotations

import copy
import io
import json
import logging
import warnings
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from acdnet.config import ACDNetConfig, NetworkConfig
from acdnet.errors import InputRefused, MissingExtra, ModelFileError
from acdnet.fast.inference import fold
from acdnet.files import check_writable, write_atomically
from acdnet.model.acdnet import ACDNet
from acdnet.model.wcd import PLAIN, computed_by
from acdnet.units import NETWORK_RANGE
from acdnet.weights.card import Card

TOLERANCE = 1e-4 * NETWORK_RANGE
CHECKED_SIZES = ((64, 64), (57, 44))
"""Image sizes of the comparison; the second is odd on purpose. Networks with coarser grids are exported for sides
divisible by all grids, and compared at the next larger ones."""
PACKAGES = "onnx onnxruntime onnxscript"
SMALLEST = 16
"""Smallest side of an image."""
INPUTS, OUTPUTS = ("Y", "X_li", "I"), ("image", "artifact")


class _Exported(nn.Module):
    """One image in, image and artifact out, as tensors."""

    def __init__(self, model: ACDNet) -> None:
        super().__init__()
        self.network = fold(copy.deepcopy(model).eval())

    def forward(self, Y: Tensor, X_li: Tensor, I: Tensor) -> tuple[Tensor, Tensor]:
        result = self.network(Y, X_li, I > 0.5)
        return result.image, result.artifacts[-1]


def export_onnx(model: ACDNet, card: Card, path: Path, overwrite: bool = False) -> float:
    """Write `path`, for one image of at least 16 x 16, and return the largest difference in network units.

    Sides must be multiples of `side_unit`.
    """
    if path.suffix != ".onnx":
        raise InputRefused(f"{path}: the name of an ONNX file must end in .onnx")
    check_writable([path], overwrite)
    exported = _Exported(model).requires_grad_(False)
    data = _convert(exported, card)
    off = _largest_difference(exported, data, side_unit(model.config))
    if not off <= TOLERANCE:
        raise ModelFileError(f"{path}: not written; the exported file differs by {off:.3g} (allowed {TOLERANCE:.3g})")
    write_atomically({path: data})
    return off


def side_unit(config: NetworkConfig) -> int:
    """Return the number that must divide the sides of an image of an exported network."""
    return 2**config.coarse if isinstance(config, ACDNetConfig) else 1


def _convert(exported: nn.Module, card: Card) -> bytes:
    try:
        import onnx
        import onnxscript  # noqa: F401  (torch.onnx needs it)
    except ImportError as error:
        raise MissingExtra("export to ONNX", PACKAGES) from error
    unit = side_unit(card.config)
    units = [torch.export.Dim(name, min=-(-SMALLEST // unit)) for name in ("height", "width")]
    height, width = units if unit == 1 else [unit * one for one in units]
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # warnings about packages that are not needed
    with warnings.catch_warnings(), computed_by(PLAIN):  # ONNX has no suitable FFT
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            exported,
            _sample(*(_multiple(side, unit) for side in (48, 40))),
            input_names=list(INPUTS),
            output_names=list(OUTPUTS),
            dynamic_shapes=[{2: height, 3: width}] * 3,
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    proto = program.model_proto
    for key, value in (("name", card.name), ("units", card.units), ("notice", card.notice), ("sha256", card.sha256)):
        proto.metadata_props.append(onnx.StringStringEntryProto(key=key, value=value))
    proto.metadata_props.append(onnx.StringStringEntryProto(key="config", value=json.dumps(card.config.to_dict())))
    first = card.config.first if isinstance(card.config, ACDNetConfig) else "li"
    proto.metadata_props.append(onnx.StringStringEntryProto(key="X_li is made by", value=first))
    if isinstance(card.config, ACDNetConfig) and card.config.last != "none":
        note = f"the image of the network alone; acdnet reduce also applies {card.config.last}"
        proto.metadata_props.append(onnx.StringStringEntryProto(key="image", value=note))
    proto.metadata_props.append(onnx.StringStringEntryProto(key="sides are multiples of", value=str(unit)))
    buffer = io.BytesIO()
    onnx.save_model(proto, buffer)
    return buffer.getvalue()


def _largest_difference(exported: nn.Module, data: bytes, unit: int) -> float:
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtra("the check of an exported file", PACKAGES) from error
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    off = 0.0
    for H, W in CHECKED_SIZES:
        inputs = _sample(_multiple(H, unit), _multiple(W, unit))
        expected = exported(*inputs)
        found = session.run(list(OUTPUTS), {name: value.numpy() for name, value in zip(INPUTS, inputs, strict=True)})
        for mine, theirs in zip(expected, found, strict=True):
            off = max(off, float(np.abs(mine.numpy() - theirs).max()))
    return off


def _multiple(side: int, unit: int) -> int:
    return -(-side // unit) * unit


def _sample(H: int, W: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return synthetic inputs of a size."""
    y, x = torch.meshgrid(torch.arange(H) / H, torch.arange(W) / W, indexing="ij")
    Y = 60 + 30 * torch.sin(20 * x + 9 * y)
    X_li = 55 + 20 * torch.cos(7 * x - 15 * y)
    I = ((x - 0.5) ** 2 + (y - 0.4) ** 2 > 0.02).float()
    return Y[None, None], X_li[None, None], I[None, None]
