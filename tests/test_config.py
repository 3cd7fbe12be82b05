from typing import Any

import pytest

from acdnet.config import ORDERS, ACDNetConfig
from acdnet.errors import ConfigError


def test_the_defaults_are_the_papers() -> None:
    c = ACDNetConfig()
    assert (c.T, c.N, c.d, c.p, c.N_p, c.blocks, c.order) == (10, 6, 32, 9, 32, 3, "KMX")
    assert (c.coarse, c.first, c.last) == (0, "li", "none")


def test_six_orders() -> None:
    assert set(ORDERS) == {"KMX", "KXM", "MKX", "MXK", "XKM", "XMK"}


def test_round_trip() -> None:
    c = ACDNetConfig(T=3, order="XMK", first="tracefit", last="trace_correction")
    assert ACDNetConfig.from_dict(c.to_dict()) == c


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"T": 0}, "T"),
        ({"T": -3}, "T"),
        ({"T": "10"}, "T"),
        ({"T": 2.0}, "T"),
        ({"T": True}, "T"),
        ({"blocks": None}, "blocks"),
        ({"p": 8}, "p"),
        ({"N": 40}, "N"),
        ({"order": "KXX"}, "order"),
        ({"order": 3}, "order"),
        ({"first": "nmar"}, "first"),
        ({"first": 1}, "first"),
        ({"last": "first"}, "last"),
        ({"last": None}, "last"),
        ({"order": ["K"]}, "order"),
        ({"stages": 3}, "stages"),
    ],
)
def test_F51_a_bad_value_is_refused_and_named(values: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=rf"\b{named}\b") as caught:
        ACDNetConfig.from_dict(values)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
