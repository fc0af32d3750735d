"""Making runs: resume after an interrupt, errors that name topic and part, formats, metadata, manual systems, topics of
the wrong task."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from porism.cli import main
from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.evaluate.runs.run import read_run
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.declared.context import SystemContext
from porism.systems.runs.run import RunOptions, make_run

SAMPLE = Path(__file__).resolve().parents[2] / "sample" / "topics"
DECLARED = """
[[run]]
name = "mine/counting"
task = 1
parts = [{ use = "counting_part:counting" }]
"""
searched: list[str] = []
failing: dict[str, BaseException] = {}


class Counting(Retriever):
    """Finds one answer, and notes which topics it saw."""

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return answer 2."""
        assert query.topic is not None
        searched.append(query.topic.id)
        if query.topic.id in failing:
            raise failing[query.topic.id]
        return Ranking.of({2: 1.0}, k)


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunOptions]:
    module = type(sys)("counting_part")
    module.counting = lambda context: Counting()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "counting_part", module)
    (tmp_path / "mine.toml").write_text(DECLARED)
    searched.clear()
    failing.clear()
    yield RunOptions(f"{tmp_path}/mine.toml:mine/counting", cache=tmp_path / "cache")
    failing.clear()


def test_an_interrupted_run_continues_with_the_next_topic(demo: Path, tmp_path: Path, counting: RunOptions) -> None:
    topics = read_topics(SAMPLE / "task1.xml")
    failing[topics[3].id] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        make_run(demo / "index", topics, 1, tmp_path / "run.tsv", counting)
    assert not (tmp_path / "run.tsv").exists()
    assert searched == [topic.id for topic in topics[:4]]
    failing.clear()
    make_run(demo / "index", topics, 1, tmp_path / "run.tsv", counting)
    assert searched == [topic.id for topic in [*topics[:4], *topics[3:]]]
    assert list(read_run(tmp_path / "run.tsv").rankings) == [topic.id for topic in topics]
    assert sorted(path.name for path in tmp_path.glob(".*")) == []


def test_other_options_do_not_continue_a_run(demo: Path, tmp_path: Path, counting: RunOptions) -> None:
    topics = read_topics(SAMPLE / "task1.xml")[:3]
    failing[topics[2].id] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        make_run(demo / "index", topics, 1, tmp_path / "run.tsv", counting)
    failing.clear()
    make_run(demo / "index", topics, 1, tmp_path / "run.tsv", RunOptions(counting.system, 7, cache=counting.cache))
    assert len(searched) == 3 + 3


def test_a_failing_part_is_named_with_topic_and_reason(demo: Path, tmp_path: Path, counting: RunOptions) -> None:
    topics = read_topics(SAMPLE / "task1.xml")[:3]
    failing[topics[1].id] = ZeroDivisionError("no documents")
    with pytest.raises(PorismError) as caught:
        make_run(demo / "index", topics, 1, tmp_path / "run.tsv", counting)
    where = f"topic {topics[1].id}, mine/counting, part counting_part:counting"
    assert str(caught.value).startswith(f"{where}: failed: ZeroDivisionError: no documents\n  fix: ")


def test_a_part_that_cannot_be_made_is_named(demo: Path, tmp_path: Path, counting: RunOptions) -> None:
    def broken(context: SystemContext) -> Retriever:
        raise ValueError("no model")

    sys.modules["counting_part"].counting = broken  # type: ignore[attr-defined]
    with pytest.raises(PorismError, match=r"mine/counting, part counting_part:counting: failed: ValueError: no model"):
        make_run(demo / "index", read_topics(SAMPLE / "task1.xml"), 1, tmp_path / "run.tsv", counting)


def run(demo: Path, tmp_path: Path, *arguments: str, task: int = 1, name: str = "run.tsv") -> Path:
    out = tmp_path / name
    topics = ["--topics", str(SAMPLE / f"task{task}.xml"), "--index", str(demo / "index"), "-k", "5"]
    assert main(["run", *topics, "--cache", str(tmp_path / "cache"), "-o", str(out), *arguments]) == 0
    return out


def test_formats_and_header(demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab = run(demo, tmp_path, "--system", "MSM/TF-IDF")
    trec = run(demo, tmp_path, "--system", "MSM/TF-IDF", "--format", "trec", "--header", name="run.trec")
    lines = trec.read_text().splitlines()
    assert lines[0] == "# ir_metadata.start"
    assert "# platform:" in lines
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    assert all(len(row) == 6 and row[1] == "Q0" for row in rows)
    assert read_run(trec).rankings == read_run(lab).rankings
    assert main(["run", "convert", str(lab), "-o", str(tmp_path / "converted.trec")]) == 0
    assert (tmp_path / "converted.trec").read_text().splitlines() == ["\t".join(row) for row in rows]
    assert main(["run", "convert", str(trec), "--format", "task1", "-o", str(tmp_path / "back.tsv")]) == 0
    assert (tmp_path / "back.tsv").read_text() == lab.read_text()
    assert main(["run", "convert", str(lab), "--format", "task2", "-o", str(tmp_path / "no.tsv")]) == 1
    assert "a task1 run cannot become a task2 run" in capsys.readouterr().err


def test_formulas_get_their_posts_from_the_collection(demo: Path, tmp_path: Path) -> None:
    lab = run(demo, tmp_path, task=2)
    trec, back = tmp_path / "run.trec", tmp_path / "back.tsv"
    assert main(["run", "convert", str(lab), "-o", str(trec)]) == 0
    assert main(["run", "convert", str(trec), "--format", "task2", "-o", str(back)]) == 1
    to_lab = ["run", "convert", str(trec), "--format", "task2", "-o", str(back)]
    assert main([*to_lab, "--collection", str(demo / "collection")]) == 0
    assert back.read_text() == lab.read_text()


def test_run_check_finds_nothing_in_our_runs(demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for task in (1, 2):
        out = run(demo, tmp_path, "--header", task=task, name=f"mine-{task}.tsv")
        capsys.readouterr()
        files = [str(out), "--topics", str(SAMPLE / f"task{task}.xml"), "--collection", str(demo / "collection")]
        assert main(["run", "check", *files]) == 0
        assert "W" not in capsys.readouterr().out.split()


def test_the_record_has_method_hardware_and_goal(demo: Path, tmp_path: Path) -> None:
    out = run(demo, tmp_path, "--system", "BM25_system", "--set", "msm_bm25.k1=0.9")
    record = json.loads(out.with_suffix(".json").read_text())
    assert record["system"] == "MSM/BM25_system"
    metadata = record["ir_metadata"]
    assert metadata["method"]["retrieval"][0]["options"] == {"documents": "question+answer", "k1": "0.9"}
    assert metadata["platform"]["hardware"]["cpu"]["cores"] >= 1
    assert metadata["research goal"]["task"].startswith("find answers")
    other = run(demo, tmp_path, "--system", "BM25_system", name="other.tsv")
    assert read_run(other).rankings != read_run(out).rankings


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task", "2"], "topic A.1 is one of Task 1, not of Task 2"),
        (["--system", "L8"], "topic A.1 is one of Task 1, not of Task 2"),
        (["--system", "MSM/TF-IDF", "--set", "msm_tfidf.k1=1"], "part msm_tfidf has no option k1"),
        (["--system", "MSM/TF-IDF", "--set", "terrier.k1=1"], "--set: MSM/TF-IDF has no part terrier"),
        (["--system", "Linked MSE posts"], "Linked MSE posts found nothing for any topic"),
    ],
)
def test_wrong_use_is_reported(
    demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    topics = ["--topics", str(SAMPLE / "task1.xml"), "--index", str(demo / "index"), "-o", str(tmp_path / "run.tsv")]
    assert main(["run", *topics, "--cache", str(tmp_path), *arguments]) == 1
    assert message in capsys.readouterr().err


SLOW = """
import time
from pathlib import Path
from porism.search.retriever import Ranking, Retriever


class Slow(Retriever):
    def __init__(self, index):
        pass

    def search(self, query, k):
        with open("searched.txt", "a") as out:
            out.write(query.topic.id + "\\n")
        if not Path("fast").exists():
            time.sleep(0.3)
        return Ranking.of({2: 1.0}, k)
"""


def test_ctrl_c_loses_no_topic(demo: Path, tmp_path: Path) -> None:
    (tmp_path / "slow_one.py").write_text(SLOW)
    seen = tmp_path / "searched.txt"
    command = [sys.executable, "-m", "porism.cli", "run", "--system", "slow_one:Slow", "-o", "run.tsv"]
    command += ["--topics", str(SAMPLE / "task1.xml"), "--index", str(demo / "index")]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    for _ in range(600):
        if seen.exists() and seen.read_text().count("\n") >= 3:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    error = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "porism: interrupted; the same command continues with the next topic" in error
    before = len(seen.read_text().split())
    (tmp_path / "fast").touch()
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 0
    topics = [topic.id for topic in read_topics(SAMPLE / "task1.xml")]
    assert 3 <= before < len(topics)
    assert len(seen.read_text().split()) <= len(topics) + 1  # only the topic that was interrupted is searched again
    assert list(read_run(tmp_path / "run.tsv").rankings) == topics
