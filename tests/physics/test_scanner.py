from typing import Any

import numpy as np
import pytest
import torch

from acdnet.physics.beam import transmitted
from acdnet.physics.materials import material
from acdnet.physics.phantom import make_phantom
from acdnet.physics.projector import project
from acdnet.physics.scanner import BenchmarkScanner, ClinicalScanner, Simulation
from acdnet.physics.simulate import simulate

SIZE = 128
PHANTOM = make_phantom("pelvis", 5, SIZE)
METAL = np.zeros((SIZE, SIZE), bool)
METAL[58:66, 88:98] = True


def clinical(seed: int = 3, material: str = "titanium") -> Simulation:
    return simulate(PHANTOM.hu, METAL, "clinical", seed, PHANTOM.pixel_mm, material)


@pytest.mark.parametrize("protocol", ["syndeeplesion", "clinical"])
def test_the_seed_decides_everything(protocol: str) -> None:
    def run(seed: int) -> Simulation:
        return simulate(PHANTOM.hu, METAL, protocol, seed, PHANTOM.pixel_mm)

    one, same, other = run(1), run(1), run(2)
    for name in ("clean", "corrupted", "li", "sinogram", "li_sinogram", "trace"):
        assert np.array_equal(getattr(one, name), getattr(same, name)), name
    assert not np.array_equal(one.corrupted, other.corrupted)


@pytest.mark.parametrize("protocol", ["syndeeplesion", "clinical"])
def test_metal_makes_artifacts_and_li_removes_most(protocol: str) -> None:
    made = simulate(PHANTOM.hu, METAL, protocol, 1, PHANTOM.pixel_mm, "CoCrMo")
    body = (made.clean > -500) & ~METAL
    error, left = (np.sqrt(np.mean((image - made.clean)[body] ** 2)) for image in (made.corrupted, made.li))
    assert error > 60
    assert left < 0.8 * error
    assert made.corrupted[METAL].mean() > 2500
    assert made.clean.dtype == made.corrupted.dtype == made.li.dtype == np.float32


def test_clinical_changes_nothing_that_metal_does_not_touch() -> None:
    """No ray through metal, no change: the clean image keeps its own noise."""
    small = np.zeros((SIZE, SIZE), bool)
    small[64, 64] = True
    made = simulate(PHANTOM.hu, small, "clinical", 0, PHANTOM.pixel_mm)
    far = np.hypot(*(np.indices((SIZE, SIZE)) - 64.0)) > 45
    assert np.sqrt(np.mean((made.corrupted - made.clean)[far] ** 2)) < 20


def test_denser_metal_makes_worse_artifacts() -> None:
    errors = [
        np.std((made := clinical(3, name)).corrupted[~METAL] - made.clean[~METAL]) for name in ("titanium", "CoCrMo")
    ]
    assert errors[0] < errors[1]


def test_clinical_settings_stay_in_their_ranges() -> None:
    for seed in range(4):
        settings = clinical(seed).settings
        assert 2e5 <= float(settings["photons"]) <= 2e6
        assert 54.1 <= float(settings["source_cm"]) <= 59.5
        assert 94.9 <= float(settings["source_cm"]) + float(settings["detector_cm"]) <= 108.5


def test_clinical_honours_the_pixel_size() -> None:
    """The same picture as a patient twice as wide has line integrals twice as long."""
    small, large = (simulate(PHANTOM.hu, METAL, "clinical", 1, pixel_mm) for pixel_mm in (1.2, 2.4))
    longest = [made.sinogram[~made.trace].max() for made in (small, large)]
    assert longest[1] == pytest.approx(2 * longest[0], rel=0.2)


def test_benchmark_tissue_is_measured_once_for_many_implants() -> None:
    scanner = BenchmarkScanner(PHANTOM.hu)
    alone = simulate(PHANTOM.hu, METAL, seed=9)
    again = scanner.with_metal(METAL, "titanium", np.random.default_rng(9))
    assert np.array_equal(alone.corrupted, again.corrupted)
    sinogram, image = scanner.without_metal(np.random.default_rng(0))
    assert np.abs(sinogram - alone.sinogram)[~alone.trace].max() < 0.01
    assert np.abs(image - PHANTOM.hu).mean() < 40


def test_clinical_lays_rays_through_the_whole_picture() -> None:
    scanner = ClinicalScanner(PHANTOM.hu, PHANTOM.pixel_mm, np.random.default_rng(0))
    assert scanner.geometry.bins * scanner.geometry.pitch > SIZE * np.sqrt(2)


class Still:
    """A generator that draws what is expected: physics without noise."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def poisson(self, expected: Any) -> Any:
        return expected

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rng, name)


def scanner(**changes: Any) -> ClinicalScanner:
    """Return a scanner with other constants."""
    kind = type(
        "Changed", (ClinicalScanner,), {"PHOTONS": (1e6, 1e6), "SCATTER_SHARE": (0.0, 0.0), "FULL": 1.0} | changes
    )
    made: ClinicalScanner = kind(PHANTOM.hu, PHANTOM.pixel_mm, np.random.default_rng(0))
    return made


def scanned(metal_name: str = "titanium", noise: bool = False, **changes: Any) -> Simulation:
    rng: Any = np.random.default_rng(5) if noise else Still(5)
    return scanner(**changes).with_metal(METAL, metal_name, rng)


def error(made: Simulation) -> float:
    return float(np.sqrt(np.mean((made.corrupted - made.clean)[~METAL] ** 2)))


def test_metal_that_changes_nothing_changes_nothing() -> None:
    """Water in place of tissue of the same attenuation: no artifact at any scatter and dose."""
    one = scanner(SCATTER_SHARE=(2e-4, 2e-4), PHOTONS=(2e5, 2e5))
    trace = torch.zeros(one.scan.sinogram_shape, dtype=torch.bool)
    trace[:, 60:90] = True
    clean = transmitted({"water": one.paths[0][trace], "bone": one.paths[1][trace]}, one.beam)
    change = one._change(clean, trace, 2e5, 2e-4, np.random.default_rng(0))
    assert change.abs().max() < 1e-4


def test_a_ray_through_metal_equals_a_calculation_by_hand() -> None:
    """One ray by hand: water and metal, energies added up, corrected for water, minus the same without metal."""
    one = scanner()
    share, trace = one._share(torch.from_numpy(METAL), "titanium", 1.0)
    ray = int(share.argmin())
    change = one._change(share, trace, 1e9, 0.0, Still(0))[trace][ray]  # type: ignore[arg-type]
    without = transmitted({"water": one.paths[0][trace][ray], "bone": one.paths[1][trace][ray]}, one.beam)
    p = torch.stack([-torch.log(share[ray]), -torch.log(without)])
    powers = torch.stack([p**k for k in range(1, 6)], 1) @ torch.tensor(one.correction)
    assert change == pytest.approx(float(powers[0] - powers[1]), rel=1e-3)
    assert change > 1.0


def test_tissue_makes_room_for_metal() -> None:
    """Metal as light as water in place of bone lowers the ray; on top of it the ray would be longer."""
    one = scanner()
    bone = np.zeros_like(METAL)
    bone[PHANTOM.hu > 600] = True
    hidden = project(one.tissue * torch.from_numpy(bone), one.scan)
    share, trace = one._share(torch.from_numpy(bone), "titanium", 1.0)
    metal = project(torch.from_numpy(bone).float(), one.scan)[trace] * material("titanium").mu
    paths = {"water": (one.paths - hidden)[0][trace], "bone": (one.paths - hidden)[1][trace], "titanium": metal}
    thick = metal > 1.0
    apart = torch.log(share[thick]) - torch.log(transmitted(paths, one.beam)[thick])
    assert apart.abs().mean() < 0.1  # the rays of a bin differ a little from the one in its middle
    on_top = transmitted({"water": one.paths[0][trace], "bone": one.paths[1][trace], "titanium": metal}, one.beam)
    assert (share[thick] > on_top[thick]).float().mean() > 0.9


def test_noise_scatter_fill_and_low_counts_matter() -> None:
    plain = scanned("CoCrMo")
    few: dict[str, Any] = {"PHOTONS": (1e4, 1e4), "LOW_COUNT": 0.0}
    noise = scanned("CoCrMo", True, **few).corrupted - scanned("CoCrMo", False, **few).corrupted
    assert noise[~METAL].std() > 10.0
    assert scanned("CoCrMo", SCATTER_SHARE=(2e-3, 2e-3)).corrupted[METAL].mean() < plain.corrupted[METAL].mean()
    half = scanned("CoCrMo", FULL=0.0, FILL=(0.5, 0.5))
    assert half.settings["fill"] == 0.5
    assert half.corrupted[METAL].mean() < 0.7 * plain.corrupted[METAL].mean()
    assert error(scanned("CoCrMo", True, PHOTONS=(1e4, 1e4), LOW_COUNT=30.0)) < error(scanned("CoCrMo", True, **few))


def test_images_end_at_the_ceiling_of_the_scanner() -> None:
    assert scanned("CoCrMo", CEILINGS_HU=(3071.0,)).corrupted.max() == 3071
    assert scanned("CoCrMo", CEILINGS_HU=(30_000.0,)).corrupted.max() > 4000
    assert scanned("CoCrMo").corrupted.min() >= -1024


def test_scintillators_see_a_harder_beam() -> None:
    assert "energy-integrating" in scanner().beam.name


def test_the_benchmark_softens_the_edge_of_metal(monkeypatch: pytest.MonkeyPatch) -> None:
    made = simulate(PHANTOM.hu, METAL, seed=1)
    monkeypatch.setattr("acdnet.physics.scanner.soften_edges", lambda path: path)
    hard = simulate(PHANTOM.hu, METAL, seed=1)
    assert np.count_nonzero(hard.sinogram - made.sinogram > 0.05) > 640  # the outermost bins of nearly every view


def test_the_benchmark_counts_scattered_photons() -> None:
    one = BenchmarkScanner(PHANTOM.hu)
    assert one._measure(torch.zeros(4), np.random.default_rng(0)).max() < 20
    still: Any = Still(0)
    assert one._measure(torch.zeros(1), still).item() == pytest.approx(
        float(np.polynomial.Polynomial([0.0, *one.correction])(np.log(1e6))), rel=1e-4
    )
