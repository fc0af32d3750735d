"""Shared by all tests: where the real data is, and a clear reason where it is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("PORISM_SHARED", ROOT.parent / "shared"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the real data are skipped, with the reason printed, where the folder is absent."""
    if (SHARED / "data").is_dir():
        return
    reason = pytest.mark.skip(reason=f"the real data is not at {SHARED}; set PORISM_SHARED")
    for item in items:
        if "shared" in item.keywords:
            item.add_marker(reason)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data."""
    return SHARED / "data"
