"""Read checkpoints of the published implementation, of any size.

They are pickled state dicts (`.pt`), opened only here and with the restricted unpickler.
"""

from __future__ import annotations

import io
import pickle
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from acdnet.config import ACDNetConfig
from acdnet.errors import ConfigError, ModelFileError
from acdnet.model.acdnet import ACDNet
from acdnet.weights.card import read_model_file
from acdnet.weights.check import MAX_WEIGHTS_BYTES, check_count, check_state

UNUSED = re.compile(r"tau_extend|proxNet_K_T\.\d+\.tau")
"""Unused parameters of published checkpoints."""


def count_unused(config: ACDNetConfig) -> int:
    """Count the unused parameters of a published checkpoint: one scalar, and N x d in each stage."""
    return 1 + config.T * config.N * config.d


PREFIX = "module."
"""Prefix of all names if a data-parallel wrapper was saved."""

_LAYERS = {"0": "conv1", "1": "norm1", "3": "conv2", "4": "norm2"}
_NETWORKS = {
    "proxNet_X_0": "start.prox_X0",
    "proxNet_X_init": "start.prox_X",
    "proxNet_M_init": "start.prox_M",
    "proxNet_X_last_layer": "prox_last",
}
_STAGE_NETWORKS = {"proxNet_K_T": "prox_K", "proxNet_M_T": "prox_M", "proxNet_X_T": "prox_X"}


def read_published(path: Path) -> ACDNet:
    """Read a published checkpoint and return the same network in evaluation mode."""
    state = _unpickle(path)
    try:
        config = infer_config(state)
    except ConfigError as error:
        raise ModelFileError(f"{path}: is not a checkpoint of ACDNet ({error})") from error
    known = {name: value for name, value in state.items() if not UNUSED.fullmatch(name)}
    check_count(config, known, path)
    translated = translate(known, path)
    model = ACDNet(config)
    check_state(model, translated, path)
    model.load_state_dict(translated)
    return model.eval()


def infer_config(state: Mapping[str, Tensor]) -> ACDNetConfig:
    """Infer the sizes of the network from the shapes of its weights."""
    blocks = {match[1] for name in state if (match := re.fullmatch(r"proxNet_X_0\.layer\.(\d+)\.0\.weight", name))}
    try:
        _, d, p, _ = state["D"].shape
        return ACDNetConfig(
            T=state["eta1_T"].shape[0], N=state["D0"].shape[1], d=d, p=p, N_p=state["Cp"].shape[0], blocks=len(blocks)
        )
    except (KeyError, ValueError, IndexError) as error:
        raise ConfigError(f"its sizes cannot be inferred: {error}") from error


def translate(state: Mapping[str, Tensor], path: Path) -> dict[str, Tensor]:
    """Translate names and shapes of the weights to those of `ACDNet`."""
    ours: dict[str, Tensor] = {}
    for name, value in state.items():
        try:
            named = _translate_one(name, value)
        except (IndexError, RuntimeError) as error:
            raise ModelFileError(f"{path}: weight {name!r} has the shape {tuple(value.shape)}") from error
        if not named:
            raise ModelFileError(f"{path}: weight {name!r} is not part of ACDNet")
        ours.update(named)
    return ours


def _translate_one(name: str, value: Tensor) -> dict[str, Tensor]:
    head, _, rest = name.partition(".")
    if head in _NETWORKS:
        return _network(_NETWORKS[head], rest, value)
    if head in _STAGE_NETWORKS:
        stage, _, rest = rest.partition(".")
        return _network(f"stages.{stage}.{_STAGE_NETWORKS[head]}", rest, value)
    per_stage = {"eta1_T": "eta_M", "eta2_T": "eta_X", "eta3_T": "eta_K"}
    if name in per_stage:
        return {f"stages.{t}.{per_stage[name]}": eta for t, eta in enumerate(value.flatten())}
    match name:
        case "D":
            return {"D": value[0]}
        case "D0":
            return {"start.D0": value[0]}
        case "Cp":
            return {"start.C_p": value}
        case "tau":
            return {"start.tau": value.squeeze()}
        case "etaX_nonK":
            return {"start.eta_X": value.flatten()}
        case "etaM_nonK":
            return {"start.eta_M": value.squeeze()}
        case "convert_conv_layer1":
            return {"start.V1": value.flatten(1)}
        case "convert_conv_layer2":
            return {"start.V2": value.flatten(1)}
    return {}


def _network(ours: str, rest: str, value: Tensor) -> dict[str, Tensor]:
    """Translate a weight of one proximal network."""
    if linear := re.fullmatch(r"layer\.0\.([02])\.(weight|bias)", rest) if ours.endswith("prox_K") else None:
        return {f"{ours}.linear{1 if linear[1] == '0' else 2}.{linear[2]}": value}
    if index := re.match(r"(\d+)\.", rest):
        ours, rest = f"{ours}.{index[1]}", rest[index.end() :]
    if rest == "tau":
        return {f"{ours}.tau": value[0]}
    if layer := re.fullmatch(r"layer\.(\d+)\.([0134])\.(\w+)", rest):
        return {f"{ours}.trunk.{layer[1]}.{_LAYERS[layer[2]]}.{layer[3]}": value}
    return {}


def _unpickle(path: Path) -> dict[str, Tensor]:
    if path.suffix == ".safetensors":
        raise ModelFileError(f"{path}: is a model already; it needs no import")
    data = read_model_file(path, MAX_WEIGHTS_BYTES)
    try:
        _check_unpacked_size(data, path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except ModelFileError:
        raise
    except pickle.UnpicklingError as error:
        raise ModelFileError(f"{path}: refused; it contains more than plain weights, or is not a checkpoint") from error
    except Exception as error:  # damaged files can raise any exception
        raise ModelFileError(f"{path}: is damaged or not a PyTorch checkpoint") from error
    if not isinstance(loaded, dict) or not all(isinstance(value, Tensor) for value in loaded.values()):
        raise ModelFileError(f"{path}: is not a state dict; save only the state_dict()")
    state = {str(name).removeprefix(PREFIX): value for name, value in loaded.items()}
    if len(state) != len(loaded):
        raise ModelFileError(f"{path}: two weights have the same name")
    for name, value in state.items():
        if not _is_plain(value):
            raise ModelFileError(f"{path}: weight {name!r:.60} is not a plain tensor")
    return state


def _check_unpacked_size(data: bytes, path: Path) -> None:
    """Refuse an archive that unpacks to too many bytes."""
    if not zipfile.is_zipfile(io.BytesIO(data)):
        return  # the old format is not compressed
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > MAX_WEIGHTS_BYTES:
            raise ModelFileError(f"{path}: unpacks to more than {MAX_WEIGHTS_BYTES:,} bytes")


def _is_plain(value: Tensor) -> bool:
    """Tell whether a tensor stores all of its numbers in memory."""
    if value.is_nested or value.layout != torch.strided or value.device.type != "cpu" or value.is_quantized:
        return False
    return value.numel() * value.element_size() <= value.untyped_storage().nbytes()
