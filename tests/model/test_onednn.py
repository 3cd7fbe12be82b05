from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from acdnet.model import onednn
from acdnet.model.trunk import channels_last


@pytest.fixture(params=["one pass", "two"])
def _there(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "two":
        monkeypatch.setattr(onednn, "THERE", False)
    elif not onednn.THERE:
        pytest.skip("this build of torch does not have the call")


@pytest.mark.usefixtures("_there")
@torch.inference_mode()
def test_convolution_and_relu() -> None:
    conv = channels_last(nn.Conv2d(5, 7, 3, padding=1))
    x = torch.randn(2, 5, 13, 18).contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(onednn.rectified(conv, x), F.relu(conv(x)))
    exact = conv.double()
    torch.testing.assert_close(onednn.rectified(exact, x.double()), F.relu(exact(x.double())))
