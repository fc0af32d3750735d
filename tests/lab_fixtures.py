"""Fixtures of the small lab, shared by the tests of the lab, of its pages and of Turkle."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab_case import LabCase
from porism import accounts
from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.lab.judging.journal import Journal

SAMPLE = Path(__file__).resolve().parents[1] / "sample"


@pytest.fixture(scope="session")
def case(tmp_path_factory: pytest.TempPathFactory) -> LabCase:
    """The small lab."""
    return LabCase(tmp_path_factory.mktemp("lab"))


@pytest.fixture
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use scrypt at its lowest cost; the real cost has a test of its own."""
    monkeypatch.setattr(accounts, "COST", (2, 8, 1))


@pytest.fixture
def journal(case: LabCase, tmp_path: Path, cheap_passwords: None) -> Iterator[Journal]:
    """A fresh journal of the small lab."""
    made = case.journal(tmp_path / "lab.journal", training=True)
    yield made
    made.close()


@pytest.fixture(scope="session")
def sample_collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The collection of the sample."""
    return build([open_source(SAMPLE / "dump")], tmp_path_factory.mktemp("sample") / "collection", jobs=1)
