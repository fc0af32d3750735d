"""The leaderboard shows the runs of an experiment with the systems that made them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from porism.search.engine import Engine
from porism.web.server.app import create_app
from porism.web.site.settings import Pages, SiteSettings

SAMPLE = Path(__file__).parents[2] / "sample"


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    """Two of the sample's judged runs as an experiment."""
    (tmp_path / "runs").mkdir()
    shutil.copy(SAMPLE / "qrels/task1.txt", tmp_path / "qrels.txt")
    for path in sorted((SAMPLE / "runs").glob("*task1*.tsv"))[:2]:
        shutil.copy(path, tmp_path / "runs")
    return tmp_path


@pytest.fixture
def client(demo: Path, experiment: Path) -> Iterator[TestClient]:
    app = create_app(Engine.open(demo / "index"), SiteSettings(pages=Pages(experiment=str(experiment))))
    with TestClient(app, base_url="http://localhost") as made:
        yield made


def runs(experiment: Path) -> list[Path]:
    return sorted((experiment / "runs").glob("*.tsv"))


def test_a_run_is_shown_with_the_system_that_made_it(client: TestClient, experiment: Path) -> None:
    first, second = runs(experiment)
    record = {"system": "my_module:MyRetriever", "version": "0.1.0", "task": 1, "options": {}, "seconds": 1.5}
    first.with_suffix(".json").write_text(json.dumps(record))
    page = client.get("/leaderboard").text
    rows = re.findall(r'<th scope="row">([^<]*)</th><td class="system">([^<]*)</td>', page)
    assert dict(rows) == {first.stem: "my_module:MyRetriever", second.stem: ""}


def test_without_records_there_is_no_column_of_systems(client: TestClient, experiment: Path) -> None:
    page = client.get("/leaderboard").text
    assert all(path.stem in page for path in runs(experiment))
    assert ">system<" not in page


def test_an_invalid_record_is_reported(client: TestClient, experiment: Path) -> None:
    record = runs(experiment)[0].with_suffix(".json")
    for text in ("[]", "{", "{}"):
        record.write_text(text)
        page = client.get("/leaderboard")
        assert page.status_code == 422
        assert "not the record of a run" in page.text.lower()
    assert client.get("/leaderboard").text.count("remove it, or make the run again".capitalize()) == 1


def test_an_experiment_without_runs_is_reported(client: TestClient, experiment: Path) -> None:
    shutil.rmtree(experiment / "runs")
    assert "The experiment has no runs" in client.get("/leaderboard").text
