"""ACDNet: a start, T unrolled iterations of the solver, and a final proximal network of the image."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from acdnet.config import ACDNetConfig
from acdnet.model.dictionary import oriented_streaks
from acdnet.model.prox import ProxX
from acdnet.model.stage import DICTIONARY_SCALE, Observation, Stage
from acdnet.model.start import Start
from acdnet.model.wcd import mix


@dataclass(frozen=True)
class Decomposition:
    """The output of the network in network units; B x 1 x H x W unless stated otherwise."""

    image: Tensor
    """The final image."""
    images: tuple[Tensor, ...]
    """X^(0), X^(1) .. X^(T)."""
    artifacts: tuple[Tensor, ...]
    """A^(1) .. A^(T)."""
    start_images: tuple[Tensor, Tensor]
    """The two images of the start, which the training loss supervises."""
    start_artifacts: tuple[Tensor, Tensor]
    """The two artifacts of the start, which the training loss supervises."""
    K: tuple[Tensor, ...] = ()
    """The mixing weights of every stage, B x N x d; on request."""
    M: tuple[Tensor, ...] = ()
    """The feature maps of every stage, B x N x H x W; on request."""
    kernels: tuple[Tensor, ...] = ()
    """The adaptive kernels D * K of every stage, B x N x p x p; on request."""


def join(parts: list[Decomposition]) -> Decomposition:
    """Join the decompositions of single images to that of a batch."""
    if len(parts) == 1:
        return parts[0]

    def joined(name: str) -> Any:
        values = [getattr(one, name) for one in parts]
        return torch.cat(values) if name == "image" else tuple(map(torch.cat, zip(*values, strict=True)))

    return Decomposition(**{field.name: joined(field.name) for field in fields(Decomposition)})


def part(found: Decomposition, n: int) -> Decomposition:
    """Return the decomposition of image n of a batch."""

    def alone(values: Any) -> Any:
        return values[n : n + 1] if isinstance(values, Tensor) else tuple(value[n : n + 1] for value in values)

    return Decomposition(**{field.name: alone(getattr(found, field.name)) for field in fields(Decomposition)})


class ACDNet(nn.Module):
    """Adaptive convolutional dictionary network (Sec. 3)."""

    def __init__(self, config: ACDNetConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or ACDNetConfig()
        dictionary = oriented_streaks(config.d, config.p)
        finds_K = config.order.startswith("K")
        self.D = nn.Parameter(dictionary)
        self.start = Start(config, dictionary)
        self.stages = nn.ModuleList(Stage(config, finds_K and t == 0) for t in range(config.T))
        self.prox_last = ProxX(config.N_p, config.blocks, config.coarse)

    def forward(self, Y: Tensor, X_li: Tensor, I: Tensor, details: bool = False) -> Decomposition:
        """Decompose Y into image and artifact.

        Y is the corrupted image and X_li its correction by LI or `config.first` (B x 1 x H x W, network units); I is
        the non-metal mask of the same shape (true or 1 = not metal). In the metal, Y may contain any value, even NaN;
        X_li must be finite. `details` adds K, M and D * K.
        """
        self.check_inputs(Y, X_li, I)
        observed = Observation(Y, I.bool())
        D = self.D / DICTIONARY_SCALE

        started = self.start(D, X_li, observed)
        state = started.state
        images, artifacts = [started.first_image], []
        K, M, kernels = [], [], []
        for stage in self.stages:
            state = stage(D, state, observed)
            images.append(state.X)
            artifacts.append(state.A)
            if details:
                K.append(state.K)
                M.append(state.M)
                kernels.append(mix(D, state.K))
        image, _ = self.prox_last(state.X, state.P)

        return Decomposition(
            image=image,
            images=tuple(images),
            artifacts=tuple(artifacts),
            start_images=started.images,
            start_artifacts=started.artifacts,
            K=tuple(K),
            M=tuple(M),
            kernels=tuple(kernels),
        )

    @classmethod
    def from_pretrained(cls, name_or_path: str | Path = "default", device: str = "cpu") -> ACDNet:
        """Load a model; the same as `acdnet.load_model`."""
        from acdnet.weights.load import load_model

        return load_model(name_or_path, device)

    def check_inputs(self, Y: Tensor, X_li: Tensor, I: Tensor) -> None:
        """Refuse arguments of the wrong shape or type."""
        for name, value in (("Y", Y), ("X_li", X_li), ("I", I)):
            if value.dim() != 4 or value.shape[1] != 1 or value.shape != Y.shape or not value.numel():
                raise ValueError(f"{name} is {tuple(value.shape)}; Y, X_li and I must all be B x 1 x H x W")
            if name != "I" and value.dtype != self.D.dtype:
                raise ValueError(f"{name} is {value.dtype}, the network computes in {self.D.dtype}")
