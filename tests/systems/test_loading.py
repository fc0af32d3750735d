"""Systems by name: the default engine, a class of the user's own, and errors for anything else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import porism
from porism.errors import PorismError
from porism.search.engine import Engine
from porism.systems.declared.context import SystemContext
from porism.systems.loading import load_system

OWN = '''
from porism.search.retriever import Ranking, Retriever


class Newest(Retriever):
    """Answers with larger ids first."""

    def __init__(self, index):
        self.index = index

    def search(self, query, k):
        answers = self.index.content.posts("answer")
        return Ranking.of(((post.id, float(post.id)) for post in answers), k)


class NotOne:
    def __init__(self, index):
        pass


def newest(index):
    return Newest(index)

'''


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "my_systems.py").write_text(OWN, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "my_systems", raising=False)
    return tmp_path


def context(engine: Engine, folder: Path) -> SystemContext:
    return SystemContext(engine.index, 1, folder / "cache")


def test_a_class_of_the_users_own_is_a_system(engine: Engine, own: Path) -> None:
    assert repr(load_system("my_systems:Newest", context(engine, own))) == "Newest()"


def test_a_function_that_returns_a_retriever_is_a_system(engine: Engine, own: Path) -> None:
    assert repr(load_system("my_systems:newest", context(engine, own))) == "Newest()"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("porsim", "no system is named porsim\n  fix: did you mean porism?"),
        ("zzz", "no system is named zzz\n  fix: porism systems lists them; your own is my_module:MyRetriever"),
        ("my_systems:Newset", "my_systems:Newset: my_systems has no Newset\n  fix: did you mean my_systems:Newest?"),
        ("no_such_module:A", "no_such_module:A: cannot import no_such_module: No module named 'no_such_module'"),
        ("my_systems:NotOne", "my_systems:NotOne: NotOne is not a Retriever\n  fix: derive it from"),
    ],
)
def test_an_unknown_system_is_reported(engine: Engine, own: Path, name: str, message: str) -> None:
    with pytest.raises(PorismError) as caught:
        load_system(name, context(engine, own))
    assert str(caught.value).startswith(message)


def test_porism_run_loads_a_system_by_name(demo: Path, own: Path) -> None:
    topics = Path(__file__).resolve().parents[2] / "sample" / "topics" / "task1.xml"
    command = [sys.executable, "-m", "porism.cli", "run", "--system", "my_systems:Newest", "--topics", str(topics)]
    done = subprocess.run(
        [*command, "--index", str(demo / "index"), "-k", "5", "-o", "run.tsv"], cwd=own, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = (own / "run.tsv").read_text("utf-8").splitlines()
    assert {line.split("\t")[-1] for line in lines} == {"Newest"}
    record = json.loads((own / "run.json").read_text("utf-8"))
    assert record["system"] == "my_systems:Newest"
    check = subprocess.run(
        [sys.executable, "-m", "porism.cli", "run", "check", "run.tsv"], cwd=own, capture_output=True, text=True
    )
    assert "E" not in {line.split("\t")[0] for line in check.stdout.splitlines()}, check.stdout
