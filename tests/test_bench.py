"""Benchmarks are run seldom; each must at least import, so that no rename breaks it unnoticed."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OTHER_PYTHON = {"_pya0", "__main__"}  # run by a Python that has pya0; runs all benchmarks
NAMES = sorted({module.name for module in pkgutil.iter_modules([str(ROOT / "bench")])} - OTHER_PYTHON)


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_can_be_imported(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    assert importlib.import_module(f"bench.{name}").__doc__
