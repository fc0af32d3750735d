from __future__ import annotations

from pathlib import Path

import pytest

import porism
from porism.search.engine import Engine


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


def texts(engine: Engine, typed: str) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in engine.complete(typed).completions]


def test_titles_that_begin_with_the_text_come_first(engine: Engine) -> None:
    title = next(" ".join(text.plain().split()) for text in engine.content.titles(1))
    assert ("title", title) == texts(engine, title[:12].replace("$", ""))[0]


def test_tags_behind_the_operator(engine: Engine) -> None:
    found = texts(engine, "integral tag:calc")
    assert ("tag", "integral tag:calculus") in found
    assert all(kind == "tag" for kind, _ in found)


def test_common_formulas_in_an_open_formula(engine: Engine) -> None:
    found = texts(engine, "why $a^2+b")
    assert found
    assert all(kind == "formula" and text.startswith("why $") and text.endswith("$") for kind, text in found)


@pytest.mark.parametrize("typed", ["", " ", "x", "zzzzqqq", "$", "tag:zzz", "((("])
def test_nothing_to_complete_is_no_error(engine: Engine, typed: str) -> None:
    assert engine.complete(typed).completions == () or typed
