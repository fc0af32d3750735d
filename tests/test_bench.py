"""Benchmarks are run seldom; each must at least import, so that no rename breaks it unnoticed."""

from __future__ import annotations

import importlib
import pkgutil
import re
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


def test_the_interval_of_a_median_is_that_of_the_sign_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    from bench.compare_speed import interval

    assert interval(range(1, 16)) == (4, 12)  # the outer three on each side have a probability of 3.5 %
    assert interval(range(1, 21)) == (6, 15)
    assert interval([1.0, 2.0]) == (1.0, 2.0)


def test_two_trees_are_compared(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    from bench.compare_speed import command

    assert command([str(ROOT), str(ROOT), "--only", "build", "--pairs", "1", "--posts", "20", "--most", "100"]) == 0
    assert re.search(r"\| build \| 1 \| [\d.]+ s \| [\d.]+ s \| [\d.]+ \| [\d.]+ to [\d.]+ \|", capsys.readouterr().out)
    with pytest.raises(SystemExit, match="has no folder src/porism"):
        command([str(ROOT / "tests"), str(ROOT)])
