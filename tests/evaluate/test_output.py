"""Tables, figures, the report and the commands."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from random import Random

import pytest

import porism.cli
from porism.errors import PorismError
from porism.evaluate.measures.score import read_experiment, score_runs
from porism.evaluate.published import difference_from_official
from porism.evaluate.qrels import read_qrels, write_qrels
from porism.evaluate.reports.figures import write_figures
from porism.evaluate.reports.html_report import write_report
from porism.evaluate.runs.run import Run, write_run
from porism.evaluate.table import FORMATS, ResultTable, render, spreadsheet_cell, text_of_cell

from .random_runs import random_case

TABLE = ResultTable(
    "example", ("run", "n", "nDCG'"), (("a_b|c", 3, 0.12345), ("d", 12, None)), "T & U", ("average: complete",)
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two runs of two teams and their qrels."""
    qrels, first = random_case(5)
    second = random_case(6)[1]
    write_qrels(qrels, tmp_path / "qrels.txt")
    rest = {topic: ranking for topic, ranking in second.rankings.items() if topic in qrels}
    keys = sorted({item for grades in qrels.values() for item in grades})
    for number, ranking in enumerate(rest.values()):  # the second run answers with items that were judged
        ranking.items[: len(ranking.items)] = [
            f"{keys[(number + place) % len(keys)]}" for place in range(len(ranking.items))
        ]
    write_run(Run("T-task1-a-auto-both-P", "task1", first.rankings, "a"), tmp_path / "T-task1-a-auto-both-P.tsv")
    write_run(Run("U-task1-b-auto-both-P", "task1", rest, "b"), tmp_path / "U-task1-b-auto-both-P.tsv")
    return tmp_path


@pytest.fixture
def porism_command(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Only the commands for evaluation, in the folder."""
    monkeypatch.chdir(folder)
    return folder


RUNS = ["T-task1-a-auto-both-P.tsv", "U-task1-b-auto-both-P.tsv"]


def test_formats_of_a_table() -> None:
    assert (
        render([TABLE]) == "T & U\nrun     n  nDCG'\n-----  --  -----\na_b|c   3  0.123\nd      12\naverage: complete\n"
    )
    assert render([TABLE], "tsv") == "run\tn\tnDCG'\na_b|c\t3\t0.123\nd\t12\t\n"
    assert json.loads(render([TABLE], "json"))["example"]["rows"] == [
        {"run": "a_b|c", "n": 3, "nDCG'": 0.12345},
        {"run": "d", "n": 12, "nDCG'": None},
    ]
    assert json.loads(render([TABLE, replace(TABLE, name="other")], "json")).keys() == {"example", "other"}
    assert (
        render([TABLE], "markdown")
        == "**T & U**\n\n| run | n | nDCG' |\n| --- | --: | --: |\n| a_b\\|c | 3 | 0.123 |\n| d | 12 |  |\n\naverage: complete\n"
    )
    assert "a\\_b|c & 3 & 0.123 \\\\" in render([TABLE], "latex")
    assert '<td class="number">0.123</td>' in render([TABLE], "html")
    assert "T &amp; U" in render([TABLE], "html")
    with pytest.raises(
        PorismError, match=re.escape("unknown format 'x'\n  fix: choose one of table, tsv, json, markdown, latex, html")
    ):
        render([TABLE], "x")


class Balance(HTMLParser):
    """Counts open elements."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"meta", "line", "rect", "circle", "polyline", "br"} or (
            tag in {"rect", "polyline", "circle"} and not self.get_starttag_text().endswith("/>")
        ):  # type: ignore[union-attr]
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_report_is_well_formed_and_self_contained(folder: Path) -> None:
    made = read_experiment(folder / "qrels.txt", [folder / name for name in RUNS])
    write_report(made, folder / "r.html", "Title <1>")
    text = (folder / "r.html").read_text()
    parser = Balance()
    parser.feed(text)
    assert parser.open == []
    assert "Title &lt;1&gt;" in text
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", text)
    for part in (
        "average: complete".capitalize(),
        "Is the difference real?",
        "Is the pool fair to new systems?",
        "prefers-color-scheme: dark",
    ):
        assert part in text
    first = (folder / "r.html").read_bytes()
    write_report(made, folder / "r.html", "Title <1>")
    assert (folder / "r.html").read_bytes() == first


def test_the_report_of_one_run(folder: Path) -> None:
    made = read_experiment(folder / "qrels.txt", [folder / RUNS[0]])
    write_report(made, folder / "r.html")
    assert "Is the difference real?" not in (folder / "r.html").read_text()


def test_figures_are_written_and_the_same_each_time(folder: Path) -> None:
    made = read_experiment(folder / "qrels.txt", [folder / name for name in RUNS])
    paths = write_figures(made, folder / "one")
    assert [path.name for path in paths] == [
        f"{name}.svg" for name in ("topics", "boxes", "curves", "heat", "differences")
    ]
    again = write_figures(made, folder / "two")
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in again]
    alone = read_experiment(folder / "qrels.txt", [folder / RUNS[0]])
    pictures = write_figures(alone, folder / "three", "png")
    assert len(pictures) == 4
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)


def test_without_matplotlib_the_error_names_the_pip_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    made = read_experiment(folder / "qrels.txt", [folder / RUNS[0]])
    with pytest.raises(PorismError, match=re.escape("plots need matplotlib\n  fix: pip install 'porism[plots]'")):
        write_figures(made, folder / "p")


def test_two_runs_of_one_name_are_an_error() -> None:
    qrels, run = random_case(1)
    with pytest.raises(PorismError, match="two runs are named random"):
        score_runs(qrels, [run, run])


def test_eval_prints_the_averaging_with_the_table(porism_command: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert porism.cli.main(["eval", "qrels.txt", *RUNS, "--average", "official"]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[0].split() == ["run", "average", "topics", "nDCG'", "MAP'", "P'@10", "bpref", "judged@10"]
    assert (
        text.splitlines()[-1] == "average: official, topics with a judged hit (the lab's prefiltered runs without -c)"
    )


@pytest.mark.parametrize("form", FORMATS)
def test_eval_in_every_format_with_every_option(
    porism_command: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    Path("info.csv").write_text("Topic,Difficulty\nA.1,Low\nA.2,High\n")
    parts = [
        "--compare",
        "--coverage",
        "--correlate",
        "--leave-team-out",
        "--per-topic",
        "--subsets",
        "info.csv",
        "--against",
        "published",
        "--anyway",
        "--format",
        form,
    ]
    assert porism.cli.main(["eval", "qrels.txt", *RUNS, *parts]) == 0
    assert "official" in capsys.readouterr().out or form == "tsv"


def test_other_judgments_than_the_official_ones_are_refused_or_marked(
    porism_command: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert porism.cli.main(["eval", "qrels.txt", *RUNS, "--against", "published"]) == 1
    error = capsys.readouterr().err
    assert "these judgments are not the official ones of Task 1, 2020: " in error
    assert "instead of 77 topics and 39,124 judgments\n  fix: score on the official judgments, or add --anyway" in error
    assert porism.cli.main(["eval", "qrels.txt", *RUNS, "--against", "published", "--anyway"]) == 0
    printed = capsys.readouterr().out
    assert "not comparable: these judgments are not the official ones of Task 1, 2020" in printed
    assert "(not comparable)" in printed


@pytest.mark.shared
@pytest.mark.parametrize(("name", "task", "year"), [("task1-2020", 1, 2020), ("task1-2021", 1, 2021)])
def test_official_judgments_are_recognised(shared_data: Path, name: str, task: int, year: int) -> None:
    qrels = read_qrels(shared_data / "qrels-official" / f"{name}.txt")
    assert difference_from_official(qrels, task, year) == ""
    cut = read_qrels(shared_data / "slice" / "qrels" / f"{name}.txt")
    assert "judgments instead of" in difference_from_official(cut, task, year)


def test_json_is_one_object_with_keys_for_programs(porism_command: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--compare", "--coverage", "--correlate", "--leave-team-out", "--json"]
    assert porism.cli.main(["eval", "qrels.txt", *RUNS, *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == [
        *("means", "comparison", "coverage", "measure_correlations", "run_correlations", "leave_team_out")
    ]
    keys = {key for table in found.values() for row in table["rows"] for key in row}
    assert {"p_holm", "p_t_test", "relevant_found", "judgments_removed", "nDCG'"} <= keys
    assert not [key for key in keys if not key or " " in key]


def test_an_impossible_evaluation_exits_with_1_and_prints_nothing(
    porism_command: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty.txt").write_text("")
    assert porism.cli.main(["eval", "empty.txt", *RUNS]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("porism: empty.txt: this file has no judgments")
    assert porism.cli.main(["eval", "qrels.txt"]) == 1
    assert "no run to score" in capsys.readouterr().err


def test_task3_by_command(porism_command: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("q3.txt").write_text("A.1\t0\td_1\t3\nA.2\t0\td_2\t5\n")
    Path("map.tsv").write_text("T-x\tA.1\td_1\nT-x\tA.2\td_2\n")
    assert porism.cli.main(["eval", "q3.txt", "--answers", "map.tsv", "--format", "tsv"]) == 0
    assert capsys.readouterr().out == "run\ttopics\tAR\tP@1\nT-x\t2\t1.500\t0.500\n"
    assert porism.cli.main(["eval", "q3.txt"]) == 1
    assert "these are judgments of Task 3 answers" in capsys.readouterr().err
    assert porism.cli.main(["eval", "qrels.txt", RUNS[1], "--as-task3"]) == 0
    assert "Task 1 runs scored as Task 3" in capsys.readouterr().out


def test_run_check_fix_and_fuse_by_command(porism_command: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert porism.cli.main(["run", "check", *RUNS]) == 0
    assert capsys.readouterr().out == "no problem found\n"
    Path("bad.tsv").write_text("A.1\t5\t1\t1\tx\nA.1\t5\t2\t1\tx\n")
    assert porism.cli.main(["run", "check", "bad.tsv", "--json"]) == 0
    assert [json.loads(line)["kind"] for line in capsys.readouterr().out.splitlines()] == [
        "name",
        "duplicate",
        "tied-scores",
    ]
    assert porism.cli.main(["run", "fix", "bad.tsv"]) == 0
    assert capsys.readouterr().out == "bad.fixed.tsv\n"
    assert Path("bad.fixed.tsv").read_text() == "A.1\t5\t1\t1.0\tx\n"
    assert porism.cli.main(["run", "fuse", *RUNS, "-o", "fused.tsv"]) == 0
    assert porism.cli.main(["run", "check", "fused.tsv"]) == 0
    Path("worse.tsv").write_text("A.1\t5\t1\t1\tx\nA.1\t5\n")
    assert porism.cli.main(["run", "check", "worse.tsv"]) == 1
    assert porism.cli.main(["run"]) == 2
    assert "give --topics, --index, --output, or an action: check, fix, fuse" in capsys.readouterr().err


def test_published_by_command(porism_command: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert porism.cli.main(["lab", "published", "task2", "--format", "tsv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 21


@pytest.mark.parametrize(
    "text", ["=1", "+x", "-x", "@x", "\tx", "\rx", "\nx", " =1", "'=1", '"=1', "\ufeff=1", "＠x", "-", "= 5"]
)
def test_what_a_spreadsheet_would_compute_is_text(text: str) -> None:
    assert spreadsheet_cell(text) == f"'{text}"


@pytest.mark.parametrize(
    "text", ["", "a=b", "-1", "+2.5e-3", "-3%", "2020-01-01", "http://x/?a=b", "$-x$", "'a", "it's = x"]
)
def test_other_cells_stay(text: str) -> None:
    assert spreadsheet_cell(text) == text


def test_the_text_of_a_cell_comes_back() -> None:
    random = Random("cells")
    for _ in range(5000):
        text = "".join(random.choices("'\"=+-@ \t1a", k=random.randrange(6)))
        assert text_of_cell(spreadsheet_cell(text)) == text
