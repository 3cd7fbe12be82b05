import numpy as np
import pytest

from acdnet.errors import ConfigError
from acdnet.physics.materials import METALS, material

KEV = np.array([20.0, 50.0, 70.0, 100.0, 120.0])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("water", [0.8098, 0.2269, 0.1929, 0.1707, 0.1614]),
        ("bone", [4.001, 0.4242, 0.2570, 0.1855, 0.1656]),
        ("titanium", [15.85, 1.213, 0.5361, 0.2721, 0.2102]),
    ],
)
def test_attenuation_equals_published_tables(name: str, expected: list[float]) -> None:
    assert material(name).mass_attenuation(KEV) == pytest.approx(expected, rel=1e-3)


def test_titanium_at_the_reference_energy() -> None:
    assert material("titanium").mu == pytest.approx(2.41245, rel=1e-4)


def test_relative_attenuation_is_one_at_the_reference() -> None:
    for name in METALS:
        assert material(name).relative(np.array([70.0])) == pytest.approx([1.0])


def test_heavier_metals_attenuate_more() -> None:
    assert material("Ti6Al4V").mu < material("steel316L").mu < material("amalgam").mu < material("gold").mu


def test_k_edges_are_there() -> None:
    """Gold absorbs more above 80.7 keV than below."""
    below, above = material("gold").mass_attenuation(np.array([80.0, 82.0]))
    assert above > 2 * below


def test_unknown_materials_are_refused() -> None:
    with pytest.raises(ConfigError, match="unobtainium"):
        material("unobtainium")
