"""Write a model: weights and the result of the self-test as `.safetensors`, the rest as its card."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path

from safetensors.torch import save

from acdnet import __version__
from acdnet.config import config_to_dict
from acdnet.errors import InputRefused, ModelFileError
from acdnet.files import check_writable, sha256, write_atomically
from acdnet.weights.card import CONFIG_KEY, Card, Training, card_path, units_of
from acdnet.weights.networks import Network
from acdnet.weights.selftest import KEY, selftest


def save_model(
    model: Network,
    path: Path,
    *,
    name: str,
    summary: str,
    architecture: str = "acdnet",
    training: Training | None = None,
    scores: Mapping[str, float] | None = None,
    overwrite: bool = False,
    half: bool = False,
) -> Card:
    """Write the weights and their card, both or neither, and return the card.

    `half` rounds matrices and kernels to 16 bits in the file; the given model is unchanged.
    """
    if path.suffix != ".safetensors":
        raise InputRefused(f"{path}: the name of a model must end in .safetensors")
    check_writable([path, card_path(path)], overwrite)
    model = copy.deepcopy(model).cpu().float().eval()
    state = {key: value.detach().contiguous() for key, value in model.state_dict().items()}
    if half:
        state = {key: value.half() if value.dim() > 1 else value for key, value in state.items()}
        model.load_state_dict(state)
    if broken := [key for key, value in state.items() if not value.isfinite().all()]:
        raise ModelFileError(f"{path}: not written; {broken[0]} contains values that are not finite")
    data = save({**state, KEY: selftest(model)}, metadata={CONFIG_KEY: json.dumps(config_to_dict(model.config))})
    card = Card(
        name=name,
        summary=summary,
        architecture=architecture,
        config=model.config,
        parameters=model.config.count_parameters(),
        sha256=sha256(data),
        version=__version__,
        training=training,
        scores=scores or {},
        units=units_of(model.config),
    )
    write_atomically({path: data, card_path(path): card.to_json().encode()})
    return card
