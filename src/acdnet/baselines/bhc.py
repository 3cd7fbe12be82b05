r"""BHC: what the metal adds to a ray is made proportional to its path through metal (after Verburg and Seco 2012).

With P the path through metal in cm and d = sinogram - LI(sinogram), fit on the trace

    d ~ x_1 P + x_2 P^2 + x_3 P^3,

and keep of the metal only the linear term:  sinogram + x_1 P - (x_1 P + x_2 P^2 + x_3 P^3).
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from acdnet.physics.measured import Measured

DEGREE = 3


def bhc(measured: Measured) -> NDArray[np.float32]:
    """Correct the hardening by metal and reconstruct."""
    if not measured.metal.any():
        return measured.reconstruct(measured.sinogram)
    P = measured.path()
    return measured.reconstruct(_corrected(measured, P))


def _corrected(measured: Measured, P: Tensor) -> Tensor:
    on = P > 0
    d = (measured.sinogram - measured.interpolated())[on].double()
    powers = torch.stack([P[on].double() ** k for k in range(1, DEGREE + 1)], 1)
    x = torch.linalg.lstsq(powers, d[:, None]).solution[:, 0]
    corrected = measured.sinogram.clone()
    corrected[on] += (x[0] * powers[:, 0] - powers @ x).to(corrected)
    return corrected
