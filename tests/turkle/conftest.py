from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from turkle_site import PASSWORD, Site, turkle_site

from lab_case import LabCase
from lab_fixtures import case, cheap_passwords, journal, sample_collection
from porism.cli import main
from porism.lab.judging.assignments import assign_extra, assign_topic
from porism.lab.judging.journal import Journal
from porism.lab.turkle.client import Server, call

__all__ = ["case", "cheap_passwords", "journal", "sample_collection"]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with turkle_site(tmp_path_factory.mktemp("turkle")) as made:
        server = Server(made.url, made.token)
        for name in ("ann", "bob", "cyd"):
            call(server, "POST", "users/", {"username": name, "password": PASSWORD})
        yield made


@pytest.fixture
def folder(case: LabCase, journal: Journal, tmp_path: Path) -> Path:
    assign_topic(journal, "ann", 1, "A.1")
    assign_topic(journal, "bob", 2, "B.1")
    assign_extra(journal, "ann", "A.1", 2, 1)
    target = tmp_path / "turkle"
    assert (
        main(
            [
                "lab",
                "turkle",
                "export",
                str(journal.path),
                "--collection",
                str(case.collection_path),
                "-o",
                str(target),
                "--threads",
                "https://lab.example",
            ]
        )
        == 0
    )
    return target
