"""The same numbers, faster. Importing it makes every ACDNet of this process compute its operators by FFT.

`fft_wcd` the operators of Eq. (2) · `inference` a trained network made ready for use · `training` blocks with fixed
statistics · `winograd`, `small_conv`, `upsample_add` convolutions for CPUs · `jit` compiled loops · `malloc` memory
that is kept · `device` the choice of a device.
"""

from __future__ import annotations

from acdnet.fast.fft_wcd import FFT
from acdnet.model.acdnet import ACDNet
from acdnet.model.wcd import use

use(FFT)

__all__ = ["ACDNet"]
