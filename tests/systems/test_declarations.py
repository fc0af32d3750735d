"""Declarations: every run of the published tables, names, options of parts, what is cached beside an index,
hand-written queries."""

from __future__ import annotations

from pathlib import Path

import pytest

import porism
from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.evaluate.published import published
from porism.search.engine import Engine
from porism.search.query import read_query
from porism.systems.declared.context import SystemContext
from porism.systems.declared.declaration import MEASURES, Declaration, find_declaration, parse_declarations, shipped
from porism.systems.declared.describe import described
from porism.systems.declared.parts import PARTS, checked_options, part_factory, part_options
from porism.systems.loading import parse_overrides, task_of
from porism.systems.topic_queries import presentation, query_formula, read_hand_queries, topic_of, topic_query


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


@pytest.mark.parametrize("task", [1, 2, 3])
def test_every_published_run_is_declared_with_its_scores(task: int) -> None:
    table = published(f"task{task}")
    declared = [one for one in shipped() if one.is_published and one.task == task]
    place = {name: table.columns.index(name) for name in table.columns}
    years = (2022,) if task == 3 else (2020, 2021, 2022)
    expected = [
        [row[place[f"{year} {name}" if task < 3 else name]] for year in years for name in MEASURES[task]]
        for row in table.rows
    ]
    ours = [[one.published[year][name] for year in years for name in MEASURES[task]] for one in declared]
    assert sorted(ours) == sorted(expected)


def test_first_answers_of_task_1_are_those_of_table_7() -> None:
    table = published("task1-as-task3")
    expected = sorted((row[5], row[6]) for row in table.rows)
    assert (
        sorted((one.as_task3["AR"], one.as_task3["P@1"]) for one in shipped() if one.is_published and one.task == 1)
        == expected
    )


@pytest.mark.parametrize(
    ("name", "task", "found"),
    [
        ("MathDowers/L8_a018", None, "MathDowers/L8_a018"),
        ("l8_a018", None, "MathDowers/L8_a018"),
        ("TF-IDF", None, "MSM/TF-IDF"),
        ("TF-IDF (Terrier)", 1, "baselines/TF-IDF(Terrier)"),
        ("Tangent-S", 2, "baselines/Tangent-S"),
    ],
)
def test_names(name: str, task: int | None, found: str) -> None:
    assert find_declaration(name, task).name == found


@pytest.mark.parametrize(
    ("name", "task", "message"),
    [
        ("L8_a081", None, "no system is named L8_a081\n  fix: did you mean MathDowers/L8_a018?"),
        ("Tangent-S", None, "baselines/Tangent-S is a system of several tasks\n  fix: add --task 1 or --task 2"),
        ("L8", 1, "MathDowers/L8 is a system of Task 2, not of Task 1\n  fix: run it with --task 2"),
    ],
)
def test_names_that_do_not_fit(name: str, task: int | None, message: str) -> None:
    with pytest.raises(PorismError) as caught:
        find_declaration(name, task)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "one", [one for one in shipped() if one.is_published], ids=lambda one: f"{one.name}-{one.task}"
)
def test_every_system_is_described(one: Declaration) -> None:
    page = described(one.name, one.task)
    assert page.startswith(f"{one.name}  (Task {one.task}, ")
    assert f"status: {one.status}" in page
    assert all(need in page for need in one.needs)
    assert all(f". {part.use}(" in page for part in one.parts)


def test_every_declared_part_has_a_factory_and_takes_its_options() -> None:
    for one in shipped():
        for part in one.parts:
            checked_options(part.use, part.options)
    assert all(callable(part_factory(name)) for name in PARTS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dept": 3}, "part fuse has no option dept\n  fix: did you mean depth?"),
        ({"depth": "many"}, "part fuse: depth is 'many'\n  fix: write a number (int)"),
        (
            {"method": "mean"},
            "part fuse: method is 'mean'\n  fix: choose one of minmax-sum, minmax, sum, rrf, score-rrf",
        ),
    ],
)
def test_options_are_checked_against_the_factory(options: dict[str, object], message: str) -> None:
    with pytest.raises(PorismError) as caught:
        checked_options("fuse", options)
    assert str(caught.value) == message


def test_a_dataclass_in_a_signature_groups_options() -> None:
    assert list(part_options("fuse")) == ["of", "method", "weights", "k", "depth", "missing"]
    assert part_options("tangent_cft2")["epochs"].default == 3


def test_options_from_the_command_line_get_the_types_of_the_factory() -> None:
    overrides = parse_overrides(["fuse.k=10", "fuse.weights=0.5, 1", "fuse.of=a/b,c/d"])
    assert checked_options("fuse", overrides["fuse"]) == {"k": 10.0, "weights": (0.5, 1), "of": ("a/b", "c/d")}
    with pytest.raises(PorismError, match=r"write part\.option=value"):
        parse_overrides(["k1"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[run]]\nname = 'a/b'\ntask = 4", "task is 4\n  fix: write one of 1, 2, 3"),
        ("[[run]]\nname = 'a/b'\ntask = 1\npart = []", "unknown key part\n  fix: did you mean parts?"),
        ("", "declares no system\n  fix: write a table"),
        ("[[run", "not TOML: "),
    ],
)
def test_wrong_declarations_are_reported(text: str, message: str) -> None:
    with pytest.raises(PorismError) as caught:
        list(parse_declarations(text, "mine.toml"))
    assert message in str(caught.value)


def test_system_and_topics_agree_on_the_task() -> None:
    sample = Path(__file__).resolve().parents[2] / "sample" / "topics"
    answers, formulas = read_topics(sample / "task1.xml"), read_topics(sample / "task2.xml")
    assert [task_of(None, "porism", topics) for topics in (answers, formulas)] == [1, 2]
    assert [task_of(None, "Tangent-S", topics) for topics in (answers, formulas)] == [1, 2]
    with pytest.raises(PorismError, match=r"is one of Task 2, not of Task 1"):
        task_of(1, "porism", formulas)
    with pytest.raises(PorismError, match=r"is one of Task 1, not of Task 2"):
        task_of(None, "L8", answers)


def test_what_a_part_prepares_is_kept_beside_the_index(engine: Engine, tmp_path: Path) -> None:
    context = SystemContext(engine.index, 1, tmp_path / "systems")
    calls = []

    def build(folder: Path) -> None:
        calls.append(folder)
        (folder / "words.txt").write_text("one\n")

    first = context.cached("words", {"stem": True}, build)
    assert (first / "words.txt").read_text() == "one\n"
    assert first.parent == tmp_path / "systems"
    assert context.cached("words", {"stem": True}, build) == first
    assert len(calls) == 1
    assert context.cached("words", {"stem": False}, build) != first
    assert len(calls) == 2


QUERIES = {
    "list.json": '[{"qid": "A.1", "kw": [{"type": "term", "str": "prime"}, {"type": "tex", "str": "p^2"}], "tags": "a,b"}]',
    "words.txt": "qid\tterm\ttex\tMore tex\nA.1\tprime, divisor\tp^2\tq\n",
    "formulas.txt": "B.1 \t p^2\tq^2\n",
}


@pytest.mark.parametrize(
    ("name", "phrases", "formulas"),
    [
        ("list.json", ("prime",), ("p^2",)),
        ("words.txt", ("prime", "divisor"), ("p^2", "q")),
        ("formulas.txt", (), ("p^2", "q^2")),
    ],
)
def test_hand_written_queries(tmp_path: Path, name: str, phrases: tuple[str, ...], formulas: tuple[str, ...]) -> None:
    (tmp_path / name).write_text(QUERIES[name])
    queries = read_hand_queries(tmp_path / name)
    query = queries.of("B.1" if name == "formulas.txt" else "A.1")
    assert (query.phrases, query.formulas) == (phrases, formulas)
    with pytest.raises(PorismError, match=r"has no query for topic A\.2"):
        queries.of("A.2")


def test_a_typed_query_has_a_topic() -> None:
    topic = topic_of(read_query("is $a<b$ & c", r"then $x^2$"))
    assert topic.title == 'is <span class="math-container">a&lt;b</span> &amp; c'
    assert [one.latex for one in topic.formulas] == ["a<b", "x^2"]


@pytest.mark.shared
def test_topics_get_their_official_mathml(shared_data: Path) -> None:
    tables = shared_data / "arqmath-format" / "topic-formulas"
    names = [tables / f"2020_formulas_{kind}.tsv" for kind in ("latex", "slt", "opt")]
    topics = read_topics(shared_data / "slice" / "topics" / "task2-2020.xml", names)
    formulas = [query_formula(topic_query(topic, 2)) for topic in topics]
    assert all(one is not None and "<math" in one.mathml and "<math" in one.content for one in formulas)
    plain = query_formula(topic_query(read_topics(shared_data / "slice" / "topics" / "task2-2020.xml")[0], 2))
    assert plain is not None
    assert not plain.mathml
    assert presentation(plain).startswith("<math")
