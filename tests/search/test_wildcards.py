from __future__ import annotations

import pytest

import porism
from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.corpus.store.collection import Collection
from porism.search.engine import Engine
from porism.store.embedded.build import build_index
from porism.store.protocols import IndexOptions

PLANTED = (
    "x^n+y^n=z^n", "a^2+b^2=c^2", "a^2+b^2=c^2+1", "1+1=2", "a^2+b^3=c^4", "f(x+y)=f(x)+f(y)", "x^y=y^x",
    r"\int_0^1 x^2\,dx", r"\sum_{k=1}^n k^p", r"\frac{n(n+1)}{2}", r"\sqrt{a^2+b^2}", "p^{q-1}=1", "(f\\circ g)^{-1}",
)  # fmt: skip


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """An index of notes, each with one planted formula."""
    place = tmp_path_factory.mktemp("planted")
    notes = place / "notes"
    notes.mkdir()
    for number, latex in enumerate(PLANTED):
        (notes / f"{number:02}.md").write_text(f"# Note {number}\n\nHere is ${latex}$ once.\n", "utf-8")
    collection = build([open_source(notes, "")], place / "collection")
    with Collection.open(collection) as opened:
        build_index(opened, place / "index", IndexOptions(vectors=False))
    return porism.open(place / "index")


FERMAT = "?x^{?n} + ?y^{?n} = ?z^{?n}"


@pytest.mark.parametrize("mode", ["similar", "subformula"])
def test_a_query_of_wildcards_alone_finds_what_binds_first(engine: Engine, mode: str) -> None:
    hits = engine.formulas(FERMAT, k=4, mode=mode).hits  # type: ignore[arg-type]
    assert {hit.latex for hit in hits[:2]} == {"x^n+y^n=z^n", "a^2+b^2=c^2"}
    assert all(not hit.level for hit in hits[2:])


@pytest.mark.parametrize(
    ("typed", "latex"),
    [
        ("?x^?y = ?y^?x", "x^y=y^x"),
        (r"\int_{?a}^{?b} ?f dx", r"\int_0^1 x^2\,dx"),
        ("sqrt(?a^2+?b^2)", r"\sqrt{a^2+b^2}"),
        ("?n(?n+1)/2", r"\frac{n(n+1)}{2}"),
        ("?p^(?q-1) = 1", "p^{q-1}=1"),
    ],
)
def test_typed_wildcards_bind(engine: Engine, typed: str, latex: str) -> None:
    (hit, *_) = engine.formulas(typed, k=1).hits
    assert hit.latex == latex
    assert hit.level
    assert all(binding.name.startswith("?") for binding in hit.bindings)


def test_a_post_whose_formula_binds_is_above_one_that_shares_symbols(engine: Engine) -> None:
    found = ["".join(piece.text for piece in hit.title) for hit in engine.search(FERMAT, k=3).hits]
    assert set(found[:2]) == {"00 › Note 0", "01 › Note 1"}


@pytest.mark.parametrize(
    ("typed", "latex"),
    [("?f(?x+?y) = ?f(?x)+?f(?y)", "f(x+y)=f(x)+f(y)"), (r"\int_{?a}^{?b} ?f d?x", r"\int_0^1 x^2\,dx")],
)
def test_a_wildcard_may_be_a_function_or_the_variable_of_a_differential(engine: Engine, typed: str, latex: str) -> None:
    (hit, *_) = engine.formulas(typed, k=1).hits
    assert (hit.latex, hit.level) == (latex, "written")
