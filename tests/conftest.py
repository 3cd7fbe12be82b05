"""What several tests need."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of reference vectors, which users do not have."""
    folder = Path(os.environ.get("ACDNET_SHARED", REPOSITORY.parent / "shared"))
    if not (folder / "reference" / "acdnet").is_dir():
        pytest.skip(f"the reference vectors are not here ({folder}); set ACDNET_SHARED to their folder")
    return folder
