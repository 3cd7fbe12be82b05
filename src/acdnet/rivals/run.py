"""Run a learned method on a measured slice, whichever it is."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from acdnet.physics.measured import Measured
from acdnet.rivals.cnnmar import CNNMAR, cnnmar
from acdnet.rivals.dual import DualNetwork
from acdnet.rivals.observed import observe, to_hu

LABELS = {"cnnmar": "CNNMAR", "dudonet": "DuDoNet", "dscmar": "DSCMAR", "dudonet++": "DuDoNet++"}
"""Names of the kinds of networks, for people."""
BEGIN_WITH = {"cnnmar": "BHC, LI", "dudonet": "LI", "dscmar": "LI", "dudonet++": "no correction"}
"""The corrected images that they are given."""


@torch.no_grad()
def run_rival(
    model: CNNMAR | DualNetwork, measured: Measured, li: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """Reduce a slice with a network in evaluation mode; HU. `li` is its LI correction, if it is known already."""
    if isinstance(model, CNNMAR):
        return cnnmar(model, measured, li)
    device = next(model.parameters()).device
    return to_hu(model(observe(measured, li).to(device)).image)
