from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from porism.cli.pool import NAMES
from porism.errors import PorismError
from porism.evaluate.published import TABLES, published, with_published, year_of

EDITIONS = {"a1": 2020, "a2": 2021, "a3": 2022}
MEASURES = {"ndcg": "nDCG'", "map": "MAP'", "p10": "P'@10"}
ROWS = {
    "teams": 18,
    "scale": 8,
    "task1": 38,
    "task2": 20,
    "task3": 14,
    "correlations": 8,
    "task1-as-task3": 38,
    "qrels": 12,
}


def test_every_table_is_there_and_the_command_names_them_all() -> None:
    assert {name: len(published(name).rows) for name in TABLES} == ROWS
    assert tuple(TABLES) == NAMES
    with pytest.raises(PorismError, match=re.escape("unknown published table 'x'\n  fix: choose one of teams, scale")):
        published("x")


def test_the_tables_agree_with_each_other() -> None:
    teams = published("teams")
    for task, name in ((1, "task1"), (2, "task2"), (3, "task3")):
        assert sum(int(row[-1] or 0) for row in teams.rows if row[0] == task) == len(published(name).rows)
    for row in teams.rows:
        assert sum(int(cell or 0) for cell in row[2:6]) == row[6]
    # the overview writes BM25_Tfidf in one table and BM25_TfIdf in the other
    assert {str(row[1]).lower() for row in published("task1").rows} == {
        str(row[1]).lower() for row in published("task1-as-task3").rows
    }


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


@pytest.mark.shared
@pytest.mark.parametrize(("name", "source"), [("task1", "table3.tsv"), ("task2", "table4.tsv")])
def test_tables_3_and_4(shared_data: Path, name: str, source: str) -> None:
    table = published(name)
    ours = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    theirs = rows(shared_data / "published" / source)
    assert [(row["team"], row["system"]) for row in ours] == [(row["team"], row["system"]) for row in theirs]
    for one, two in zip(ours, theirs, strict=True):
        for edition, year in EDITIONS.items():
            for short, measure in MEASURES.items():
                assert one[f"{year} {measure}"] == float(two[f"{edition}_{short}"])
        assert (one["runtype"] == "manual", one["data"]) == (two["manual"] == "yes", two["data"])


@pytest.mark.shared
def test_the_other_tables(shared_data: Path) -> None:
    table5 = [tuple(row[place] for place in (2, 6, 7, 8, 9, 10, 11)) for row in published("task3").rows]
    names = ("ar", "p1", "lo", "cs", "mg", "ui")
    assert table5 == [
        (row["run_file_stem"], *(float(row[name]) for name in names))
        for row in rows(shared_data / "published/table5.tsv")
    ]
    table7 = [(row[1], row[5], row[6]) for row in published("task1-as-task3").rows]
    assert table7 == [
        (row["system"], float(row["ar"]), float(row["p1"])) for row in rows(shared_data / "published/table7.tsv")
    ]
    table1 = [row[1:] for row in published("teams").rows]
    columns = ("auto_primary", "auto_alternate", "manual_primary", "manual_alternate", "runs")
    assert table1 == [
        (row["team"], *(int(row[name]) for name in columns))
        for row in rows(shared_data / "published/table1.tsv")
        if row["team"] != "TOTAL"
    ]
    counts = [(row[0], row[1], row[4], row[5]) for row in published("qrels").rows]
    assert counts == [
        tuple(int(row[name]) for name in ("year", "task", "topics", "judged"))
        for row in rows(shared_data / "published/qrels_counts.tsv")
    ]
    table6 = published("correlations")
    cells = {
        (row[0], row[1], column): value
        for row in table6.rows
        for column, value in zip(table6.columns[2:], row[2:], strict=True)
    }
    words = {"pearson_r": "Pearson r", "kendall_tau_b": "Kendall tau-b"}
    assert cells == {
        (words[row["coefficient"]], row["measure_a"], row["measure_b"]): float(row["value"])
        for row in rows(shared_data / "published/table6.tsv")
    }
    assert {(row[0], row[1], row[2]) for row in published("scale").rows} == {
        (int(row["task"]), int(row["score"]), row["rating"].capitalize())
        for row in rows(shared_data / "published/table2.tsv")
    }


def test_a_run_is_ranked_among_the_published_ones() -> None:
    table = with_published(2, 2022, {"mine": {"nDCG'": 0.70, "MAP'": 0.5, "P'@10": 0.6}})
    place = next(iter(table.marked))
    assert table.rows[place][:3] == (4, "ours", "mine")
    assert [row[0] for row in table.rows] == list(range(1, 22))
    assert [float(row[6] or 0) for row in table.rows] == sorted(
        (float(row[6] or 0) for row in table.rows), reverse=True
    )


def test_the_edition_of_a_topic() -> None:
    assert [year_of(topic) for topic in ("A.1", "B.200", "A.201", "B.300", "A.301")] == [2020, 2020, 2021, 2021, 2022]
    with pytest.raises(PorismError, match=re.escape("L.5x is not a topic of the lab")):
        year_of("L.5x")
