"""The runs a0 and a0porter as systems: hand-written queries, several formulas, explanation, and agreement with the
original engine."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau

from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.search.query import read_query
from porism.systems.approach0.formula_index import index_formulas
from porism.systems.approach0.structure import StructureSearch
from porism.systems.approach0.text_index import formula_instances
from porism.systems.loading import open_system
from porism.systems.topic_queries import read_hand_queries, topic_query

SAMPLE = Path(__file__).resolve().parents[3] / "sample" / "topics"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def test_a_formula_is_found_by_its_tree(demo: Path, cache: Path) -> None:
    system = open_system(demo / "index", "approach0/a0", cache=cache)
    topic = read_topics(SAMPLE / "task2.xml")[0]
    found = system.search(topic_query(topic, 2), 10)
    assert len(found)
    best = system.explain(topic_query(topic, 2), int(found.ids[0]))
    assert best.value == pytest.approx(found.scores[0])
    assert sum(part.value for part in best.parts) == pytest.approx(best.value)


def test_words_and_formulas_add_up(demo: Path, cache: Path) -> None:
    system = open_system(
        demo / "index", "approach0/a0porter", cache=cache, options={"approach0_answers": {"stemmer": "none"}}
    )
    found = system.search(read_query("sum of $x^2$ and $x^2+1$"), 5)
    explanation = system.explain(read_query("sum of $x^2$ and $x^2+1$"), int(found.ids[0]))
    assert explanation.value == pytest.approx(found.scores[0])
    assert any("paths and symbols" in part.reason for part in explanation.parts)


def test_an_unknown_stemmer(demo: Path, cache: Path) -> None:
    with pytest.raises(PorismError, match="porter"):
        open_system(
            demo / "index", "approach0/a0porter", cache=cache, options={"approach0_answers": {"stemmer": "lovins"}}
        )


def test_at_most_five_instances_and_no_comments(demo: Path) -> None:
    import porism

    content = porism.open(demo / "index").content
    instances = list(formula_instances(content))
    visuals = [one.visual_id for one in instances]
    assert instances
    assert max(visuals.count(one) for one in set(visuals)) <= 5
    formulas = content.formulas_by_id([one.id for one in instances])
    assert all(formula.kind != "comment" for formula in formulas.values())


@pytest.mark.shared
def test_formula_rankings_follow_the_original_engine(shared_data: Path) -> None:
    """Topics of the pool with the formulas that the original ranked for any of them: median tau at least .9."""
    with open(shared_data / "formula-pool-2020/formulas.tsv", encoding="utf-8", newline="") as stream:
        formulas = {cells[0]: html.unescape(cells[1]) for cells in (line.split("\t") for line in list(stream)[1:])}
    reference: dict[str, dict[str, float]] = {}
    for line in (shared_data / "fidelity/approach0/pool-2020.a0.trec").read_text().splitlines():
        topic, _, visual, _, score, _ = line.split("\t")
        reference.setdefault(topic, {})[visual] = float(score)
    topics = list(reference)[:6]
    visuals = sorted({visual for topic in topics for visual in list(reference[topic])[:150]})
    search = StructureSearch(index_formulas([formulas[one] for one in visuals]), np.ones(len(visuals), np.int64))
    queries = read_hand_queries(shared_data / "fidelity/approach0-queries/topics.arqmath-2020-task2.txt")
    taus = []
    for topic in topics:
        scores: Any = search.scores(queries.of(topic).formulas[0]).score
        rows = [row for row, one in enumerate(visuals) if one in reference[topic]]
        taus.append(
            kendalltau([reference[topic][visuals[row]] for row in rows], [scores[row] for row in rows]).statistic
        )
    assert np.median(taus) > 0.9
