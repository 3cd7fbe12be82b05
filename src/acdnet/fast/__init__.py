"""Faster implementations with the same results. Importing this package makes every ACDNet use operators by FFT.

`fft_wcd`: the operators of Eq. (2) · `inference`: a trained network for inference · `training`: blocks with fixed batch
statistics · `winograd`, `small_conv`, `upsample_add`: parts of networks on CPUs · `jit`: compiled loops · `malloc`:
retained memory · `device`: the choice of a device.
"""

from __future__ import annotations

from acdnet.fast.fft_wcd import FFT
from acdnet.model.acdnet import ACDNet
from acdnet.model.wcd import use

use(FFT)

__all__ = ["ACDNet"]
