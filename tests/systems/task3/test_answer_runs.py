"""Task 3 runs by name: valid files, resume after a kill, cost in the record, errors without a half-made file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from endpoints import endpoint_server
from porism.cli import main
from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.evaluate.runs.check import check_files
from porism.evaluate.runs.run import read_run
from porism.records import Topic
from porism.systems.runs.run import RunOptions, RunRecord, make_run

SAMPLE = Path(__file__).resolve().parents[3] / "sample" / "topics"
OWN = """
[[run]]
name = "mine/windows"
task = 3
parts = [{ use = "terrier" }, { use = "sentence_windows", scorer = "bm25" }]

[[run]]
name = "mine/beginnings"
task = 3
parts = [{ use = "fuse", of = ["MSM/TF-IDF"] }, { use = "sentence_windows", scorer = "bm25", start = "beginning", choose = "longest" }]

[[run]]
name = "mine/prefix"
task = 3
parts = [{ use = "terrier" }, { use = "longest_prefix" }]

[[run]]
name = "mine/wrong"
task = 3
parts = [{ use = "terrier" }]
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with endpoint_server() as url:
        yield url


@pytest.fixture
def topics() -> list[Topic]:
    return read_topics(SAMPLE / "task1.xml")[:4]


def made(demo: Path, folder: Path, topics: list[Topic], system: str, **parts: dict[str, object]) -> RunRecord:
    options = RunOptions(system, cache=folder / "cache", overrides=parts)
    return make_run(demo / "index", topics, 3, folder / "run.tsv", options)


def own(folder: Path, name: str) -> str:
    (folder / "mine.toml").write_text(OWN)
    return f"{folder}/mine.toml:mine/{name}"


@pytest.mark.parametrize("name", ["windows", "beginnings", "prefix"])
def test_extracts_are_valid_task_3_files(demo: Path, tmp_path: Path, topics: list[Topic], name: str) -> None:
    record = made(demo, tmp_path, topics, own(tmp_path, name))
    run = read_run(tmp_path / "run.tsv")
    assert run.kind == "task3"
    assert list(run.answers) == [topic.id for topic in topics]
    assert all(0 < len(answer.text) <= 1195 and answer.sources.isdigit() for answer in run.answers.values())
    assert not [one for one in check_files([tmp_path / "run.tsv"], SAMPLE / "task1.xml") if one.level == "E"]
    assert any(note.startswith("substitute: BM25") for note in record.notes) == (name != "prefix")


def test_the_default_engine_answers_with_its_best_passage(
    demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run.tsv"
    arguments = ["--task", "3", "--topics", str(SAMPLE / "task1.xml"), "--index", str(demo / "index"), "-o", str(out)]
    assert main(["run", *arguments]) == 0
    assert main(["run", "check", str(out), "--topics", str(SAMPLE / "task1.xml")]) == 0
    record = json.loads(out.with_suffix(".json").read_text())
    assert (record["task"], record["system"]) == (3, "porism")
    assert record["cost"]["requests"] == 0
    assert record["cost"]["seconds"] > 0


def test_a_system_must_end_with_an_answerer(demo: Path, tmp_path: Path, topics: list[Topic]) -> None:
    with pytest.raises(PorismError, match=r"mine/wrong, part terrier: a .*: the last part must be an answerer"):
        made(demo, tmp_path, topics, own(tmp_path, "wrong"))


def test_the_baseline_without_an_endpoint_says_what_to_name(demo: Path, tmp_path: Path, topics: list[Topic]) -> None:
    with pytest.raises(PorismError) as caught:
        made(demo, tmp_path, topics, "baselines/GPT-3")
    assert "text-davinci-002" in caught.value.message
    assert "--set endpoint_answer.url=" in caught.value.fix


def baseline(demo: Path, folder: Path, topics: list[Topic], url: str, **options: object) -> RunRecord:
    parts = {"url": url, "model": "tiny", "wait": 0.01, **options}
    return made(demo, folder, topics, "baselines/GPT-3", endpoint_answer=parts)


@pytest.mark.parametrize("api", ["completions", "chat"])
def test_the_baseline_counts_its_cost(demo: Path, tmp_path: Path, topics: list[Topic], server: str, api: str) -> None:
    record = baseline(demo, tmp_path, topics, f"{server}/second-try/v1/{api}", api=api)
    assert record.cost is not None
    assert record.cost.requests == 2 * len(topics)  # the first answer to each topic is too long
    assert record.cost.prompt_tokens == 200 * len(topics)
    assert record.cost.completion_tokens
    assert record.cost.seconds > 0
    assert record.notes[0].startswith(
        f"substitute: tiny ({api} at {server}/second-try/v1/{api}) in place of text-davinci-002"
    )
    answers = read_run(tmp_path / "run.tsv").answers
    assert {answer.sources for answer in answers.values()} == {"tiny"}
    assert all(answer.text.startswith("It is irrational") for answer in answers.values())


def test_a_busy_endpoint_is_tried_again(demo: Path, tmp_path: Path, topics: list[Topic], server: str) -> None:
    record = baseline(demo, tmp_path, topics[:2], f"{server}/busy-once/v1/completions")
    assert record.cost is not None
    assert record.cost.requests == 2


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("long", "none of 2 answers ended by itself within 1,200 characters; the shortest has 2,111 characters"),
        ("unfinished", "none of 2 answers ended by itself within 1,200 characters; the shortest has 24 characters"),
        ("empty", "none of 2 answers ended by itself within 1,200 characters; all are empty"),
        ("fail", "status 500: out of memory [31m"),
        ("nonsense", "the reply is not JSON: '<html>not json'"),
        ("half-body", "cannot be reached: the connection was closed in the middle of the reply"),
        ("redirect", "redirects to /good/v1/chat/completions"),
        ("hang", "no complete answer within 0.5 seconds"),
    ],
)
def test_an_endpoint_without_an_answer_leaves_no_file(
    demo: Path, tmp_path: Path, topics: list[Topic], server: str, behaviour: str, message: str
) -> None:
    with pytest.raises(PorismError) as caught:
        baseline(
            demo,
            tmp_path,
            topics,
            f"{server}/{behaviour}/v1/completions",
            attempts=2,
            seconds=0.5 if behaviour == "hang" else 5,
        )
    assert caught.value.message == message
    assert f"topic {topics[0].id}, baselines/GPT-3, part endpoint_answer: the endpoint {server}" in caught.value.where
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_fit_may_be_cut(demo: Path, tmp_path: Path, topics: list[Topic], server: str) -> None:
    record = baseline(demo, tmp_path, topics[:1], f"{server}/long/v1/completions", attempts=2, otherwise="cut")
    (answer,) = read_run(tmp_path / "run.tsv").answers.values()
    assert 1000 < len(answer.text) <= 1200
    assert answer.text.endswith("$x^2$.")
    assert record.notes[-1] == "1 answers did not fit and were cut after a sentence"


@pytest.mark.parametrize(("prompt", "ends"), [("overview", "\n\nA:"), ("script", "\n\n")])
def test_prompts(demo: Path, tmp_path: Path, topics: list[Topic], server: str, prompt: str, ends: str) -> None:
    baseline(demo, tmp_path, topics[:1], f"{server}/echo/v1/completions", prompt=prompt, otherwise="cut", attempts=1)
    (answer,) = read_run(tmp_path / "run.tsv").answers.values()
    assert '"prompt": "Q: ' in answer.text.replace("\uff04", "$")
    assert ('A:", "max_tokens": 570, "temperature": 0.7}' in answer.text) == (ends == "\n\nA:")


def test_a_killed_run_continues(demo: Path, tmp_path: Path, server: str) -> None:
    out = tmp_path / "run.tsv"
    command = [sys.executable, "-m", "porism.cli", "run", "--system", "baselines/GPT-3", "--task", "3"]
    command += ["--topics", str(SAMPLE / "task1.xml"), "--index", str(demo / "index"), "-o", str(out)]
    command += ["--set", "endpoint_answer.model=tiny", "--set", f"endpoint_answer.url={server}/slow/v1/completions"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=dict(os.environ))
    journal = tmp_path / ".run.tsv.unfinished"
    end = time.monotonic() + 60
    while time.monotonic() < end and not (journal.exists() and journal.read_text().count("\n") >= 3):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not out.exists()
    before = journal.read_text().count("\n") - 1
    assert subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0
    topics = read_topics(SAMPLE / "task1.xml")
    record = json.loads(out.with_suffix(".json").read_text())
    assert before >= 2
    assert record["cost"]["requests"] == len(topics)  # what the first process paid for is in the record
    assert list(read_run(out).answers) == [topic.id for topic in topics]
    assert not journal.exists()
