from __future__ import annotations

import math
from pathlib import Path

import pytest

import porism
from porism.errors import PorismError
from porism.records import Explanation, Query
from porism.search.display.results import AlsoSearched
from porism.search.engine import Engine
from porism.search.retrieval import candidates

WORDS_AND_FORMULA = r"proof that $\sqrt{2}$ is irrational"


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


def test_words_and_a_formula_find_the_thread(engine: Engine) -> None:
    results = engine.search(WORDS_AND_FORMULA, k=3)
    titles = ["".join(one.text for one in hit.title) for hit in results.hits]
    assert "irrational" in titles[0]
    assert results.total >= 3


def test_hits_have_highlighted_words_and_nodes(engine: Engine) -> None:
    hits = engine.search(WORDS_AND_FORMULA, k=5).hits
    shown = [segment for hit in hits for segment in (*hit.title, *hit.snippet)]
    assert any(segment.highlighted and segment.text.lower() == "irrational" for segment in shown)
    assert any(segment.highlighted_nodes for segment in shown if segment.kind == "formula")


def test_renamed_formula_finds_the_original(engine: Engine) -> None:
    renamed = engine.search("$u^2+w^2=h^2$", k=10)
    assert any("^2+" in "".join(one.text for one in hit.title) for hit in renamed.hits)


def test_pages_do_not_overlap(engine: Engine) -> None:
    both = engine.search("limit of a sequence", k=6).hits
    second = engine.search("limit of a sequence", k=3, offset=3).hits
    assert [hit.id for hit in both[3:]] == [hit.id for hit in second]


def test_a_page_is_the_same_whichever_pages_and_texts_came_before(engine: Engine, demo: Path) -> None:
    engine.search(WORDS_AND_FORMULA, k=10)
    engine.explain(WORDS_AND_FORMULA, engine.search(WORDS_AND_FORMULA).hits[0].id)
    later = engine.search(WORDS_AND_FORMULA, k=5, offset=5).hits
    assert later == porism.open(demo / "index").search(WORDS_AND_FORMULA, k=5, offset=5).hits
    assert any(segment.highlighted for hit in later for segment in hit.snippet)


def test_kind_questions_returns_questions(engine: Engine) -> None:
    hits = engine.search("irrational", kind="questions").hits
    assert hits
    assert {hit.kind for hit in hits} == {"question"}


def test_filters_restrict_the_hits(engine: Engine) -> None:
    tagged = engine.search("triangle", tags=("geometry",))
    assert tagged.hits
    assert all("geometry" in hit.tags for hit in tagged.hits)
    accepted = engine.search("triangle", accepted=True)
    assert accepted.hits
    assert all(hit.accepted for hit in accepted.hits)
    nothing = engine.search("triangle", years=(1900, 1901))
    assert nothing.hits == ()
    assert nothing.suggestions == ("search in all years",)


def test_a_filter_reaches_beyond_the_first_candidates(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    all_found = engine.search("triangle", k=100, tags=("geometry",)).hits
    monkeypatch.setattr(candidates, "DEPTH", 2)
    fresh = porism.open(engine.snapshot.info.address)
    assert len(fresh.search("triangle", k=100).hits) < len(all_found)
    few = fresh.search("triangle", k=100, tags=("geometry",), years=(2011, 2013)).hits
    assert few
    assert all("geometry" in hit.tags and "2011" <= hit.created[:4] <= "2013" for hit in few)


def test_a_filter_does_not_change_a_score(engine: Engine) -> None:
    scores = {hit.id: hit.score for hit in engine.search("triangle", k=100).hits}
    narrowed = engine.search("triangle", k=20, tags=("geometry",)).hits
    assert narrowed
    for hit in narrowed:
        assert engine.explain("triangle", hit.id).value == pytest.approx(hit.score, rel=1e-4)
        assert hit.score == pytest.approx(scores.get(hit.id, hit.score))


def test_an_empty_result_suggests_which_filter_to_relax(engine: Engine) -> None:
    assert engine.search("qqqzzz").suggestions == ("check the spelling, or try other words",)
    assert engine.search("").suggestions == (
        "type words or a formula, for example: proof that $\\sqrt{2}$ is irrational",
    )


def sums(part: Explanation) -> bool:
    return not part.parts or (
        math.isclose(part.value, sum(one.value for one in part.parts), rel_tol=1e-6)
        and all(sums(one) for one in part.parts)
    )


@pytest.mark.parametrize(
    "query", [WORDS_AND_FORMULA, "$x^2+y^2=z^2$", "right triangle", "eigenvalues of a symmetric matrix"]
)
@pytest.mark.parametrize("kind", ["answers", "questions"])
def test_parts_sum_to_the_score(engine: Engine, query: str, kind: str) -> None:
    for hit in engine.search(query, k=4, kind=kind).hits:  # type: ignore[arg-type]
        explanation = engine.explain(query, hit.id)
        assert explanation.value == pytest.approx(hit.score, rel=1e-4)
        assert sums(explanation)


def test_explanation_shows_the_formula_and_the_renaming(engine: Engine) -> None:
    hit = engine.search("$u^2+w^2=h^2$", k=1).hits[0]
    formula = next(part for part in engine.explain("$u^2+w^2=h^2$", hit.id).parts if part.item_nodes)
    assert formula.reason.startswith("has a formula similar to your $u^2+w^2=h^2$: $")
    reasons = [
        part.reason
        for one in engine.search("$u^2+w^2=h^2$", k=10).hits
        for part in engine.explain("$u^2+w^2=h^2$", one.id).parts
    ]
    assert any(reason.startswith("contains your formula $u^2+w^2=h^2$ with other names: $") for reason in reasons)


def test_reasons_show_the_words_as_the_query_has_them(engine: Engine) -> None:
    hit = engine.search("irrational numbers", k=1).hits[0]
    reasons = [one.reason for part in engine.explain("irrational numbers", hit.id).parts for one in part.parts]
    assert any(reason.startswith("“irrational” in ") for reason in reasons), reasons


def test_explaining_a_post_that_does_not_match_is_an_error(engine: Engine) -> None:
    with pytest.raises(PorismError) as error:
        engine.explain("qqqzzz", engine.search("triangle").hits[0].id)
    assert "is not a result of this query\n  fix: list the results with `porism search`" in str(error.value)


def test_a_name_finds_the_formula_where_the_name_is_absent(engine: Engine) -> None:
    results = engine.search("Pythagorean theorem", k=50, kind="questions")
    assert AlsoSearched("formula", "a^2+b^2=c^2") in results.also_searched
    absent = [hit.id for hit in results.hits if "pythagor" not in thread_text(engine, hit.id)]
    reasons = [part.reason for number in absent for part in engine.explain("Pythagorean theorem", number).parts]
    assert any("“pythagorean theorem” is often written $a^2+b^2=c^2$" in reason for reason in reasons)


def test_a_formula_finds_the_named_theorem(engine: Engine) -> None:
    results = engine.search("$x^2+y^2=z^2$", k=20, kind="questions")
    assert AlsoSearched("text", "pythagorean theorem") in results.also_searched
    titles = ["".join(one.text for one in hit.title) for hit in results.hits]
    assert any("Pythagorean theorem" in title for title in titles)


def test_what_the_engine_adds_can_be_switched_off(engine: Engine) -> None:
    assert not engine.search("Pythagorean theorem", expand=False).also_searched
    assert len(engine.search("Pythagorean theorem").also_searched) <= 2


def test_answers_of_one_thread_are_grouped(engine: Engine) -> None:
    plain, grouped = engine.search("irrational", k=100), engine.search("irrational", k=100, group=True)
    assert grouped.posts == plain.total
    assert grouped.total == len({hit.thread_id for hit in plain.hits}) < plain.total
    assert len({hit.thread_id for hit in grouped.hits}) == len(grouped.hits)
    first = next(hit for hit in grouped.hits if hit.more_count)
    answers = [hit for hit in plain.hits if hit.thread_id == first.thread_id]
    assert [hit.id for hit in answers] == [first.id, *(one.id for one in first.more)]
    assert first.more_count == len(answers) - 1


def test_hits_are_sorted_by_votes_or_date(engine: Engine) -> None:
    votes = [hit.votes for hit in engine.search("sum of squares", k=20, sort="votes").hits]
    assert votes == sorted(votes, reverse=True)
    dates = [hit.created for hit in engine.search("sum of squares", k=20, sort="date", group=True).hits]
    assert dates == sorted(dates, reverse=True)
    with pytest.raises(PorismError, match="sort cannot be"):
        engine.search("sum", sort="colour")  # type: ignore[arg-type]


def test_hits_count_the_formulas_of_the_query_that_they_contain(engine: Engine) -> None:
    results = engine.search(r"is $\sqrt{2}$ or $\int_0^1 q\,dq^{77}$ irrational", k=10)
    assert results.query_formulas == 2
    assert max(hit.formulas_contained for hit in results.hits) == 1


def thread_text(engine: Engine, number: int) -> str:
    """Title, tags, question and answers; a comment that points elsewhere may name what the thread does not."""
    thread = engine.content.threads_by_id([number])[number]
    bodies = (one.body.plain() for one in (thread.question, *thread.answers))
    return " ".join([thread.question.title.plain(), *thread.question.tags, *bodies]).lower()


def test_ask_gives_a_short_passage_with_its_source(engine: Engine) -> None:
    extract = engine.ask(r"why is $\sqrt{2}$ irrational?")
    assert 0 < len(extract.text) <= 1200
    assert extract.text.count("$") % 2 == 0
    assert len(extract.sources) == 1
    assert engine.ask("qqqzzz").text == ""


def test_a_whole_post_is_a_query(engine: Engine) -> None:
    post = next(iter(engine.content.posts("question")))
    hits = engine.search(Query(post.body.html(), post.title.html(), post.tags), kind="questions").hits
    assert hits[0].id == post.id


def test_formulas_are_bound_and_used(engine: Engine) -> None:
    found = engine.formulas("u^2+v^2=w^2", k=5).hits
    assert any(hit.level == "renamed" and hit.bindings and hit.uses for hit in found)


def test_words_beside_a_formula_are_noted(engine: Engine) -> None:
    assert engine.formulas("the sum $a+b$").notes == ("only the formula is searched, not the words “the sum”",)


@pytest.mark.parametrize("text", ["\x00", "$", "<<<", "\\", "}{", "?", "$\\frac$", "a" * 5000, "(" * 300, "\ud800"])
def test_any_string_is_a_legal_query(engine: Engine, text: str) -> None:
    assert len(engine.search(text, k=2).hits) <= 2
    assert len(engine.formulas(text, k=2).hits) <= 2
    assert len(engine.ask(text).text) <= 1200


def test_the_same_query_gives_the_same_result(demo: Path, engine: Engine) -> None:
    again = porism.open(demo / "index")
    assert again.search(WORDS_AND_FORMULA).hits == engine.search(WORDS_AND_FORMULA).hits


def test_a_folder_that_is_no_index_is_reported_with_a_command(demo: Path, tmp_path: Path) -> None:
    with pytest.raises(PorismError) as error:
        porism.open(tmp_path)
    assert str(error.value) == (
        f"{tmp_path}: not a Porism index (no manifest.json)\n"
        f"  fix: build the index again: porism index COLLECTION -o {tmp_path}"
    )
    with pytest.raises(PorismError, match="an index of formulas, not of search"):
        porism.open(demo / "index" / "formulas")
