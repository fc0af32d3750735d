"""Steps of neural systems by themselves: blocks, tags, texts, symbols, linear graphs, votes, the pairwise SVM, fusion
with late interaction."""

from __future__ import annotations

import sys
import types
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from porism.errors import PorismError
from porism.records import Topic
from porism.search.engine import Engine
from porism.search.query import read_query
from porism.search.retriever import Ranking
from porism.systems.approach0.late import SymbolFormat, symbols
from porism.systems.arrays import Floats, Ints
from porism.systems.declared.context import SystemContext
from porism.systems.documents import InputFormat
from porism.systems.dprl.answers import MOST_PAIRS, TrainingTopic, pair_differences, train_pairwise, vote_shares
from porism.systems.dprl.math_amr import AmrForm, AmrParser, formula_context, graph_nodes, operator_nodes
from porism.systems.inverted import token_index
from porism.systems.named_models import AppliedModel
from porism.systems.neural import BlockReranker, TagSearch, split_tags, tag_documents
from porism.text.segment import Segment, Text

USE = AppliedModel("name", "original", "directory", "digest", "substitute", "cross-encoder")
POST = Text.of(
    [
        Segment("tag", "<p>"),
        Segment("text", "First of all. Let "),
        Segment("formula", "X^2 = 12", 7),
        Segment("text", " hold. Then we solve it. "),
        Segment("text", "The End of it."),
        Segment("tag", "</p>"),
        Segment("formula", "y", 8),
    ]
)


class ById:
    """Scores an answer by its id: the larger, the better."""

    use = USE
    form = InputFormat()

    def scores(self, query: str, answers: Ints) -> Floats:
        return answers.astype(np.float64)

    shares = scores


def test_a_model_reorders_inside_blocks_only() -> None:
    ranking = Ranking(np.array([1, 2, 3, 4, 5, 6, 7]), np.arange(7, 0, -1, dtype=np.float64))
    found = BlockReranker(ById(), (2, 3)).rerank(read_query("prime"), ranking)
    assert found.ids.tolist() == [2, 1, 5, 4, 3, 6, 7]
    assert found.scores.tolist() == ranking.scores.tolist()
    short = BlockReranker(ById(), (2, 3)).rerank(read_query("prime"), ranking.top(3))
    assert short.ids.tolist() == [2, 1, 3]


def test_candidates_share_a_tag(engine: Engine, tmp_path: Path) -> None:
    context = SystemContext(engine.index, 1, tmp_path)
    index = token_index(context, "tags", "", partial(tag_documents, engine.content), split_tags)
    question = next(post for post in engine.content.posts("question") if len(post.tags) > 1)
    found = TagSearch(index, ById(), 0).tagged(question.tags)
    wanted = set(question.tags)
    tags = {post.id: set(post.tags) for post in engine.content.posts("question")}
    expected = [one.id for one in engine.content.posts("answer") if tags[one.thread_id] & wanted]
    assert found.tolist() == sorted(expected)
    limited = TagSearch(index, ById(), 3).tagged(question.tags)
    assert len(limited) == 3
    assert set(limited.tolist()) <= set(found.tolist())
    assert not len(TagSearch(index, ById(), 0).tagged(("no-such-tag",)))


@pytest.mark.parametrize(
    ("formulas", "written"),
    [("dollars", "let $x^2 = 12$ hold"), ("bare", "let x^2 = 12 hold"), ("removed", "let hold")],
)
def test_formulas_in_the_text_of_a_model(formulas: str, written: str) -> None:
    assert written in InputFormat(formulas=formulas, lower=True).text(POST)  # type: ignore[arg-type]
    assert "[MATH] X^2 = 12 [/MATH]" in InputFormat(formulas="marks").text(POST)


def test_the_query_of_a_topic_has_the_fields_of_its_pattern() -> None:
    topic = Topic("A.1", "Title", "Body", ("algebra", "sums"))
    assert InputFormat(lower=True, query="{title} {tags}. {body}").topic(topic) == "title algebra sums. body"
    assert InputFormat().topic(Topic("A.2", "", "")) == ""


def test_symbols_of_formulas() -> None:
    assert symbols(r"\mathbb{R}^2 = \frac{x}{12}") == ("R", "supscript", "2", "equal", "frac", "x", "somenum")
    assert SymbolFormat().formula("x=1") == "$x$ $equal$ $1$"
    assert SymbolFormat("none").masked(POST, 8).endswith("The End of it. y")
    assert "Let [MASK] hold" in SymbolFormat("none").masked(POST, 8)


def test_linear_graphs_without_a_parser() -> None:
    assert operator_nodes("x^2+1=y") == "eq plus SUP 𝑥 2 1 𝑦"
    assert AmrForm().text(POST).startswith("first of all let eq SUP 𝑋 2 12 hold then we solve it the end")
    assert formula_context(POST, 0) == 'First of all. Let  "eqx0eqx"  hold. Then we solve it.'
    assert AmrForm().note.startswith("substitute: no AMR parser")


def test_linear_graphs_by_a_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Model:
        def parse_sents(self, texts: list[str]) -> list[str | None]:
            return [
                '(h / Hold-01 :ARG0 (s / string-entity :value "eqx0eqx") :ARG1 s)' if "eqx0" in one else None
                for one in texts
            ]

    fake = types.ModuleType("amrlib")
    fake.load_stog_model = lambda model_dir: Model()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "amrlib", fake)
    form = AmrForm(AmrParser(str(tmp_path)))
    assert form.text(POST).split() == ["hold-01", "string-entity", "eq", "SUP", "𝑋", "2", "12"]
    assert form.key[0] == "amr"
    assert str(tmp_path) in form.note


def test_a_parser_that_is_missing_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PorismError, match="no such directory"):
        AmrParser(str(tmp_path / "nothing"))
    monkeypatch.setitem(sys.modules, "amrlib", None)
    with pytest.raises(PorismError, match="amrlib is not installed\n  fix: pip install amrlib penman"):
        AmrParser(str(tmp_path))


def test_nodes_of_a_graph() -> None:
    graph = '(c / contrast-01 :ARG1 (i / i) :ARG2 (w / want-01 :polarity - :ARG0 i :quant 2 :name (n / name :op1 "Hilbert")))'
    assert graph_nodes(graph) == 'contrast-01 i want-01 - 2 name "hilbert"'
    assert graph_nodes("") == ""


def test_votes_are_shares_of_the_best() -> None:
    assert vote_shares(np.array([4.0, -2.0, 1.0])).tolist() == [1.0, 0.0, 0.25]
    assert vote_shares(np.array([0.0, 0.0])).tolist() == [1.0, 1.0]


def test_the_svm_learns_which_feature_counts() -> None:
    dice = np.random.default_rng(2)
    topics = []
    for _ in range(8):
        features = dice.random((30, 3))
        topics.append(TrainingTopic(features, features[:, 1] > 0.7))
    weights = train_pairwise(topics, 3, cost=10.0)
    assert weights[1] > 5 * max(abs(weights[0]), abs(weights[2]))
    assert train_pairwise([], 4, 0.2).tolist() == [0.25] * 4
    many = TrainingTopic(dice.random((200, 3)), np.arange(200) < 100)
    assert len(pair_differences(many)) == MOST_PAIRS
