from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import sync_playwright

from chromium import Chromium, chromium
from lab_fixtures import case, cheap_passwords, journal, sample_collection

__all__ = ["browser", "case", "cheap_passwords", "journal", "sample_collection"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """Start a browser for the tests of a module."""
    with sync_playwright() as playwright, chromium(playwright, tmp_path_factory.mktemp("profile")) as made:
        yield made
