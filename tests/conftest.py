"""Fixtures of several rooms, and the table of faults."""

import os
from pathlib import Path

import pytest

from acdnet.data.recipe import Recipe
from tests.data.make import SIZE, small_store
from tests.faults.table import fault_of, write

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of reference vectors, which users do not have."""
    folder = Path(os.environ.get("ACDNET_SHARED", REPOSITORY.parent / "shared"))
    if not (folder / "reference" / "acdnet").is_dir():
        pytest.skip(f"the reference vectors are not here ({folder}); set ACDNET_SHARED to their folder")
    return folder


@pytest.fixture(scope="session")
def benchmark_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return six pairs of the benchmark's protocol, with sinograms."""
    return small_store(tmp_path_factory.mktemp("benchmark"), 6, recipe=Recipe(pairs=1, size=96, sinograms=True))


@pytest.fixture(scope="session")
def clinical_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return six pairs of the clinical protocol."""
    return small_store(tmp_path_factory.mktemp("clinical"), 6, recipe=Recipe("clinical", pairs=1, size=96))


@pytest.fixture(scope="session")
def sinogram_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return five smaller pairs of the benchmark's protocol, with sinograms."""
    return small_store(tmp_path_factory.mktemp("sinograms"), recipe=Recipe(pairs=1, size=SIZE, sinograms=True))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--limits", action="store_true", help="write into docs/limits.md which faults are handled")


OUTCOMES: dict[int, list[str]] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note the outcomes of the tests of faults."""
    number = fault_of(report.nodeid)
    if number is not None and (report.when == "call" or report.outcome != "passed"):
        OUTCOMES.setdefault(number, []).append(report.outcome)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("--limits"):
        write(OUTCOMES)
