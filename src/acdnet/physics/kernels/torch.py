"""The loops of `cpu` as tensor operations, view by view, for other devices."""

from __future__ import annotations

import torch
from torch import Tensor


def rays(image: Tensor, x: Tensor, out: Tensor) -> None:
    """Sum along the rays of one view: image (block, y, 1 + x + 2, lane), x (y, ray), out (block, ray, lane)."""
    index, near, far = _between(x, image.shape[2] - 2)
    samples = near * _rows(image, index) + far * _rows(image, index + 1)
    out += samples.unflatten(1, x.shape).sum(1)


def rays_transposed(lanes: Tensor, x: Tensor, out: Tensor) -> None:
    """Spread the rays of one view: lanes (block, ray, lane), x (y, ray), out (block, y, 1 + x + 2, lane)."""
    index, near, far = _between(x, out.shape[2] - 2)
    values = lanes[:, None].expand(-1, x.shape[0], -1, -1).flatten(1, 2)
    _add(out, index, near * values)
    _add(out, index + 1, far * values)


def pixels(lanes: Tensor, s: Tensor, weight: Tensor, out: Tensor) -> None:
    """Add one view to the pixels: lanes (block, 1 + bin + 2, lane), s and weight (y, x), out (block, y, x, lane)."""
    index, near, far = _between(s.flatten(), lanes.shape[1] - 2)
    values = near * lanes[:, index] + far * lanes[:, index + 1]
    out += (values * weight.flatten()[:, None].to(values)).unflatten(1, s.shape)


def pixels_transposed(image: Tensor, s: Tensor, weight: Tensor, out: Tensor) -> None:
    """Spread the pixels over one view: image (block, y, x, lane), out (block, 1 + bin + 2, lane)."""
    index, near, far = _between(s.flatten(), out.shape[1] - 2)
    values = image.flatten(1, 2) * weight.flatten()[:, None].to(image)
    out.index_add_(1, index, near * values)
    out.index_add_(1, index + 1, far * values)


def _between(position: Tensor, end: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the cell before each position and the weights of it and the next; zero outside 0 <= position < end."""
    inside = (position >= 0) & (position < end)
    index = torch.where(inside, position, 0.0).long()
    w = position - index
    if position.ndim == 2:  # one row of cells for each row of positions
        columns = end + 2
        index = index + torch.arange(len(position), device=position.device)[:, None] * columns
    near, far = (torch.where(inside, weight, 0.0).flatten()[:, None].float() for weight in (1 - w, w))
    return index.flatten(), near, far


def _rows(image: Tensor, index: Tensor) -> Tensor:
    return image.flatten(1, 2)[:, index]


def _add(image: Tensor, index: Tensor, values: Tensor) -> None:
    image.view(len(image), -1, image.shape[-1]).index_add_(1, index, values)
