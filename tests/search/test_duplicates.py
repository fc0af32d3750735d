"""Duplicates as further topics of `porism model train ranking`."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from porism.cli import run_command
from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.search.engine import Engine
from porism.search.learning.train import WEIGHT, duplicate_examples, find_duplicates
from porism.store.embedded.build import build_index
from porism.store.protocols import IndexOptions

SAMPLE = Path(__file__).resolve().parents[2] / "sample"


@pytest.fixture(scope="module")
def without_links(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the sample without links."""
    place = tmp_path_factory.mktemp("duplicates") / "index"
    with Collection.open(demo / "collection") as collection:
        build_index(collection, place, IndexOptions(links=False))
    return place


def test_the_answers_to_duplicates_are_relevant_and_own_answers_no_candidates(without_links: Path) -> None:
    engine = Engine.open(without_links)
    duplicates = find_duplicates(engine.content)
    answers = engine.content.answers_by_question(sorted(duplicates))
    examples = duplicate_examples(engine)
    assert examples
    for one in examples:
        others = [answer for other in duplicates[int(one.topic)] for answer in answers[other]]
        posts = engine.snapshot.info.count("answer") - len(answers[int(one.topic)])
        assert one.relevant_posts == len(others) >= one.relevant.sum() > 0
        assert len(one.features) <= posts
        assert one.weight == WEIGHT


def test_duplicates_go_both_ways(demo: Path) -> None:
    with Collection.open(demo / "collection") as collection:
        duplicates = find_duplicates(collection)
    assert duplicates
    assert all(question in duplicates[other] for question, others in duplicates.items() for other in others)
    assert all(question not in others for question, others in duplicates.items())


def test_an_index_with_links_is_refused(demo: Path) -> None:
    with pytest.raises(PorismError, match="the index has links") as error:
        duplicate_examples(Engine.open(demo / "index"))
    assert "--no-links" in error.value.fix


def test_the_command_fits_on_topics_and_duplicates(
    demo: Path, without_links: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topics = ["--topics", str(SAMPLE / "topics/task1.xml"), "--qrels", str(SAMPLE / "qrels/task1.txt")]
    command = ["model", "train", "ranking", str(demo / "index"), *topics, "-o", str(tmp_path / "model.toml")]
    assert run_command(command) == 0
    alone = tomllib.loads((tmp_path / "model.toml").read_text("utf-8"))
    assert run_command([*command, "--duplicates", str(without_links)]) == 0
    assert "duplicates, each counted 0.1" in capsys.readouterr().out
    assert tomllib.loads((tmp_path / "model.toml").read_text("utf-8"))["answers"] != alone["answers"]


def test_duplicates_help_to_rank_answers_only(
    demo: Path, without_links: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topics = ["--topics", str(SAMPLE / "topics/task1.xml"), "--qrels", str(SAMPLE / "qrels/task1.txt")]
    options = [*topics, "--kind", "questions", "--duplicates", str(without_links), "-o", str(tmp_path / "model.toml")]
    assert run_command(["model", "train", "ranking", str(demo / "index"), *options]) == 2
    assert "--kind answers" in capsys.readouterr().err
    assert not (tmp_path / "model.toml").exists()
