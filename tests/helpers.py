"""Small networks and inputs for tests."""

import os
import shutil
import subprocess
from collections.abc import Callable
from typing import TypeVar

import pytest
import torch

from acdnet.config import ACDNetConfig
from acdnet.model.acdnet import ACDNet

T = TypeVar("T")
SMALL = ACDNetConfig(T=2, N=3, d=4, p=5, N_p=4, blocks=2)
TINY = ACDNetConfig(T=1, N=2, d=3, p=3, N_p=2, blocks=1)


def with_threads(counts: tuple[int, ...], compute: Callable[[], T]) -> list[T]:
    """Return the results of a computation with several numbers of threads."""
    before, found = torch.get_num_threads(), []
    try:
        for count in counts:
            torch.set_num_threads(count)
            found.append(compute())
    finally:
        torch.set_num_threads(before)
    return found


def make_model(config: ACDNetConfig = SMALL, seed: int = 0) -> ACDNet:
    """Build a network with weights and running statistics that are not trivial, in evaluation mode."""
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = ACDNet(config)
    with torch.no_grad():
        for name, value in model.state_dict().items():
            if "running_mean" in name:
                value.copy_(torch.randn(value.shape, generator=generator) * 0.3)
            elif "running_var" in name:
                value.copy_(torch.rand(value.shape, generator=generator) + 0.5)
            elif "prox" in name and value.is_floating_point():
                value.add_(torch.randn(value.shape, generator=generator) * 0.01)
    return model.eval()


def make_input(B: int, H: int, W: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Make Y, X_li and I in network units; every sample is different and has metal."""
    generator = torch.Generator().manual_seed(seed)
    Y = 100 * torch.rand(B, 1, H, W, generator=generator)
    X_li = 100 * torch.rand(B, 1, H, W, generator=generator)
    I = torch.rand(B, 1, H, W, generator=generator) > 0.1
    return Y, X_li, I


def install(program: str, package: str, seconds: float = 180) -> str:
    """Return the path of a program; install it if this is a Debian container run as root, skip the test otherwise."""
    if not shutil.which(program) and shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], ["install", "-y", "--no-install-recommends", package]):
            try:
                subprocess.run(
                    ["apt-get", *command], capture_output=True, timeout=seconds, check=False, env=environment
                )
            except subprocess.TimeoutExpired:
                pytest.skip(f"the installation of {package} timed out")
    return shutil.which(program) or pytest.skip(f"{program} is not installed (Debian package {package})")
