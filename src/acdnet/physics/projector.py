"""Line integrals (P), their transpose, and weighted back-projection, as differentiable tensor operations.

All accept stacks of any leading shape: images ... x size x size, sinograms ... x views x bins. CPUs run the compiled
loops of `kernels.cpu` in threads, other devices the tensor operations of `kernels.torch`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from acdnet.fast.device import most_precise
from acdnet.fast.jit import shared_out
from acdnet.physics.geometry import FanBeam
from acdnet.physics.kernels import cpu as cpu_kernels
from acdnet.physics.kernels import torch as torch_kernels
from acdnet.physics.kernels.symmetry import image_from_lanes, image_lanes, sinogram_from_lanes, sinogram_lanes

BORDER = (1, 2)
"""Zero cells before and after a row: a sample reads two neighbours and may lie just outside."""


def project(images: Tensor, geometry: FanBeam) -> Tensor:
    """Integrate images in 1/cm along the rays; the line integrals have no unit."""
    stack = _stack(images, (geometry.size, geometry.size), "image")
    result = _linear(stack, partial(_rays, g=geometry), partial(_rays_transposed, g=geometry))
    return result.view(*images.shape[:-2], *geometry.sinogram_shape)


def transpose(sinograms: Tensor, geometry: FanBeam) -> Tensor:
    """Apply the transpose of `project`."""
    stack = _stack(sinograms, geometry.sinogram_shape, "sinogram")
    result = _linear(stack, partial(_rays_transposed, g=geometry), partial(_rays, g=geometry))
    return result.view(*sinograms.shape[:-2], geometry.size, geometry.size)


def back_project(sinograms: Tensor, geometry: FanBeam, power: int = 1) -> Tensor:
    """Sum the values of each pixel's rays over all views, weighted by depth^-power."""
    if power not in (1, 2):
        raise ValueError(f"power is {power}; it is 1 or 2")
    stack = _stack(sinograms, geometry.sinogram_shape, "sinogram")
    forth, back = (partial(operator, g=geometry, power=power) for operator in (_pixels, _pixels_transposed))
    result = _linear(stack, forth, back)
    return result.view(*sinograms.shape[:-2], geometry.size, geometry.size)


Operator = Callable[[Tensor], Tensor]


class _Linear(torch.autograd.Function):
    """A linear operator and its transpose, each the gradient of the other."""

    @staticmethod
    def forward(ctx: Any, stack: Tensor, operator: Operator, transposed: Operator) -> Tensor:
        ctx.operators = operator, transposed
        return operator(stack)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        operator, transposed = ctx.operators
        return _linear(gradient.contiguous(), transposed, operator), None, None


def _linear(stack: Tensor, operator: Operator, transposed: Operator) -> Tensor:
    result: Tensor = _Linear.apply(stack, operator, transposed)  # type: ignore[no-untyped-call]
    return result


@dataclass(frozen=True)
class _Rays:
    """The parameters of the loops over rays; lengths in pixels."""

    slope: NDArray[np.float64]  # view, bin
    first: NDArray[np.int64]  # view
    x_source: NDArray[np.float64]
    y_source: NDArray[np.float64]
    length: NDArray[np.float64]  # view, bin: cm that a ray travels between rows; 0 if it belongs to another eighth

    def x(self, view: int, size: int) -> Tensor:
        """Return the positions where the rays of a view cross the rows, as indices into rows with a border: y, ray."""
        y = np.arange(size) - 0.5 * (size - 1)
        slope = self.slope[view, self.first[view] :]
        x = self.x_source[view] + (y[:, None] - self.y_source[view]) * slope
        return torch.from_numpy(x + 0.5 * (size - 1) + BORDER[0])


@lru_cache(maxsize=16)
def _ray_table(g: FanBeam) -> _Rays:
    """List the rays of one eighth of the sinogram: those that run along y in the first quarter of the views."""
    a, s = g.angles[: g.views // 4, None], g.positions
    slope = np.tan(np.arctan(s / g.source) - a)
    along_y = slope >= -1.0
    half = g.views // 8
    along_y[half:] = ~along_y[half - 1 :: -1, ::-1]  # the mirror images; each ray belongs to exactly one view
    views = int(along_y.any(1).sum())
    first = g.bins - along_y.sum(1)
    length = np.where(along_y, np.sqrt(1 + slope**2) * g.pixel_cm, 0.0)
    x, y = g.source * np.sin(a[:, 0]), -g.source * np.cos(a[:, 0])
    return _Rays(slope[:views], first[:views], x[:views], y[:views], length[:views])


def _rays(images: Tensor, g: FanBeam) -> Tensor:
    table = _ray_table(g)
    source = image_lanes(images, BORDER)
    views = len(table.first)
    out = source.new_zeros(len(source), views, g.bins, source.shape[-1])
    for n, block in enumerate(source):
        if _compiled(images):
            rays = partial(_run, partial(cpu_kernels.rays, block.numpy(), *_extent(block)), table, out[n].numpy())
            shared_out(views, rays)
        else:
            for view, first in enumerate(table.first):
                torch_kernels.rays(block[None], table.x(view, g.size).to(block.device), out[n : n + 1, view, first:])
    out *= torch.from_numpy(table.length).to(out)[..., None]
    return sinogram_from_lanes(out, len(images), g.views)


def _rays_transposed(sinograms: Tensor, g: FanBeam) -> Tensor:
    table = _ray_table(g)
    source = sinogram_lanes(sinograms, len(table.first))
    source *= torch.from_numpy(table.length).to(source)[..., None]
    out = source.new_zeros(len(source), g.size, sum(BORDER) + g.size, source.shape[-1])
    for n, block in enumerate(source):
        if _compiled(sinograms):
            shared_out(
                g.size, partial(_run, partial(cpu_kernels.rays_transposed, block.numpy()), table, out[n].numpy())
            )
        else:
            for view, first in enumerate(table.first):
                x = table.x(view, g.size).to(block.device)
                torch_kernels.rays_transposed(block[None, view, first:], x, out[n : n + 1])
    return image_from_lanes(out[:, :, BORDER[0] : -BORDER[1]], len(sinograms))


def _run(loop: Any, t: _Rays, out: NDArray[Any], start: int, stop: int) -> None:
    loop(t.slope, t.first, t.x_source, t.y_source, out, start, stop)


def _extent(rows: Tensor) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and last non-zero column of each row; first > last for empty rows."""
    filled = rows.ne(0).any(2).numpy()
    columns = np.arange(filled.shape[1])
    low = np.where(filled, columns, columns[-1] + 1).min(1)
    return low, np.where(filled, columns, -1).max(1)


def _pixels(sinograms: Tensor, g: FanBeam, power: int) -> Tensor:
    source = torch.nn.functional.pad(sinogram_lanes(sinograms, g.views // 8), (0, 0, *BORDER))
    out = source.new_zeros(len(source), g.size, g.size, source.shape[-1])
    cos, sin = np.cos(g.angles), np.sin(g.angles)
    for n, block in enumerate(source):
        if _compiled(sinograms):
            loop = partial(cpu_kernels.pixels, block.numpy(), cos, sin, g.source, g.pitch, power, out[n].numpy())
            shared_out(g.size, loop)
        else:
            for view in range(g.views // 8):
                s, weight = _seen(g, view, power, block.device)
                torch_kernels.pixels(block[None, view], s, weight, out[n : n + 1])
    return image_from_lanes(out, len(sinograms))


def _pixels_transposed(images: Tensor, g: FanBeam, power: int) -> Tensor:
    source = image_lanes(images)
    out = source.new_zeros(len(source), g.views // 8, sum(BORDER) + g.bins, source.shape[-1])
    cos, sin = np.cos(g.angles), np.sin(g.angles)
    for n, block in enumerate(source):
        if _compiled(images):
            loop = partial(
                cpu_kernels.pixels_transposed, block.numpy(), cos, sin, g.source, g.pitch, power, out[n].numpy()
            )
            shared_out(g.views // 8, loop)
        else:
            for view in range(g.views // 8):
                s, weight = _seen(g, view, power, block.device)
                torch_kernels.pixels_transposed(block[None], s, weight, out[n : n + 1, view])
    return sinogram_from_lanes(out[:, :, BORDER[0] : -BORDER[1]], len(images), g.views)


def _seen(g: FanBeam, view: int, power: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the positions of the pixels in a view, as indices into bins with a border, and their weights: y, x."""
    line = torch.arange(g.size, device=device, dtype=most_precise(device)) - 0.5 * (g.size - 1)
    x, y, a = line[None, :], line[:, None], float(g.angles[view])
    u = 1.0 / (1.0 + (y * np.cos(a) - x * np.sin(a)) / g.source)
    s = (x * np.cos(a) + y * np.sin(a)) * u / g.pitch
    return s + 0.5 * (g.bins - 1) + BORDER[0], u**power


def _compiled(stack: Tensor) -> bool:
    return stack.device.type == "cpu"


def _stack(pictures: Tensor, shape: tuple[int, int], kind: str) -> Tensor:
    """Flatten ... x H x W to B x H x W; refuse other shapes and types than those of the geometry."""
    if pictures.shape[-2:] != shape:
        raise ValueError(f"{kind} is {tuple(pictures.shape[-2:])}; the geometry needs {shape}")
    if pictures.dtype not in (torch.float32, torch.float64):
        raise ValueError(f"{kind} is {pictures.dtype}; float32 or float64 is needed")
    return pictures.reshape(-1, *shape).contiguous()
