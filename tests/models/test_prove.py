"""What a model gives: chosen on other topics than those measured, with a recommendation."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from porism.analysis.terms import ENCODED_FIELDS
from porism.corpus.topics.files import read_topics
from porism.search.engine import Engine
from porism.search.features.similarity import same_question
from porism.search.learning.prove import JudgedSet, ModelUse, ProvedTopic, Reranking, _measured, prove, recommend
from porism.search.learning.train import read_grades
from porism.store.embedded.encoded import IndexEncoder
from porism.store.embedded.encoding import add_vectors

ROOT = Path(__file__).resolve().parents[2]


def judged() -> list[JudgedSet]:
    topics = list(read_topics(ROOT / "sample/topics/task1.xml"))[:4]
    return [JudgedSet("task1", topics, read_grades(ROOT / "sample/qrels/task1.txt"))]


def topic(fold: str, good: bool) -> ProvedTopic:
    """A topic whose relevant post is second; the signal is right or wrong about it."""
    relevant = np.array([False, True, False, False])
    signal = relevant if good else ~relevant
    return ProvedTopic(fold, np.array([1.0, 0.9, 0.2, 0.1]), {"signal": signal.astype(np.float64)}, relevant, 1)


def test_a_signal_that_is_right_gains() -> None:
    use = _measured("feature", [topic(str(n % 2), True) for n in range(10)], 4, ["signal"])
    assert (use.before, use.after) == (0.5, 1.0)
    assert use.p < 0.05
    assert recommend([use]).startswith("use it as feature: gain +0.500, p = ")


def test_weights_are_chosen_on_other_topics() -> None:
    """The signal is right in one fold only: what is chosen there is measured in the other one, where it harms or is not
    used."""
    use = _measured("feature", [topic("a", True)] * 5 + [topic("b", False)] * 5, 4, ["signal"])
    assert use.after <= use.before
    assert recommend([use]) == "do not use it: no use gains anything"


def test_a_small_gain_is_not_significant() -> None:
    use = ModelUse("feature", 3, 0.5, 0.51, 0.4, "")
    assert recommend([use]) == "use it as feature: gain +0.010, not significant (p = 0.40)"


def test_only_the_signals_of_a_use_are_weighted() -> None:
    wrong = topic("a", False)
    both = ProvedTopic(
        "a", wrong.base, {**wrong.signals, "other": wrong.relevant.astype(np.float64)}, wrong.relevant, 1
    )
    use = _measured("feature (other)", [both] * 5 + [replace(both, fold="b")] * 5, 4, ["other"])
    assert use.after == 1.0
    assert "signal" not in use.weights


def test_the_same_question_is_a_high_power() -> None:
    assert same_question(np.array([-0.5, 0.0, 0.5, 1.0])).tolist() == [0.0, 0.0, 0.0625, 1.0]


@pytest.mark.parametrize("kind", ["encoder", "cross", "late"])
def test_every_kind_is_measured(demo: Path, tiny: Callable[[str], Path], kind: str) -> None:
    proof = prove(Engine.open(demo / "index"), str(tiny(kind)), judged(), reranking=Reranking(5, 32))
    assert proof.megabytes > 0
    assert proof.milliseconds > 0
    features = ["feature (same question)", "feature (question, post)"] if kind == "encoder" else []
    assert [use.use for use in proof.uses] == [*features, "re-ranker of the first 5"]
    assert all(0 <= use.after <= 1 and 0 < use.p <= 1 for use in proof.uses)


def test_vectors_of_the_index_are_used_for_the_model_that_made_them(
    demo: Path, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    shutil.copytree(demo / "collection", tmp_path / "collection")
    index = Path(shutil.copytree(demo / "index", tmp_path / "index"))
    add_vectors(index, IndexEncoder.new(tiny("encoder"), ENCODED_FIELDS, 32))
    other = Path(shutil.copytree(tiny("encoder"), tmp_path / "other"))
    with (other / "config.json").open("a") as config:
        config.write("\n")

    def uses(model: Path) -> list[str]:
        return [
            use.use for use in prove(Engine.open(index), str(model), judged(), reranking=Reranking(length=32)).uses
        ][:-1]

    features = ["feature (same question)", "feature (question, post)"]
    assert uses(tiny("encoder")) == [*features, "source of candidates"]
    assert uses(other) == features
