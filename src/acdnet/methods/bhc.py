r"""BHC: make the contribution of metal to a ray proportional to its path through metal (after Verburg and Seco 2012).

With P the path through metal in cm and d = sinogram - LI(sinogram), fit on the trace

    d ~ x_1 P + x_2 P^2 + x_3 P^3,

and keep only the linear term of the metal:  sinogram + x_1 P - (x_1 P + x_2 P^2 + x_3 P^3).
"""

from __future__ import annotations

import torch
from torch import Tensor

from acdnet.physics.measurement import Measurement
from acdnet.units import Image

DEGREE = 3


def bhc(measurement: Measurement) -> Image:
    """Correct beam hardening by metal and reconstruct."""
    if not measurement.metal.any():
        return measurement.reconstruct(measurement.sinogram)
    return measurement.reconstruct(_corrected(measurement, measurement.path))


def _corrected(measurement: Measurement, P: Tensor) -> Tensor:
    on = P > 0
    d = (measurement.sinogram - measurement.interpolated())[on].cpu().double()  # not all devices have these
    powers = torch.stack([P[on].cpu().double() ** k for k in range(1, DEGREE + 1)], 1)
    x = torch.linalg.lstsq(powers, d[:, None]).solution[:, 0]
    corrected = measurement.sinogram.clone()
    corrected[on] += (x[0] * powers[:, 0] - powers @ x).to(corrected)
    return corrected
