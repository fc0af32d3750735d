"""Checks of content: batches by id, streams in the order of ids, and facts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from porism.corpus.content import Content
from porism.corpus.post import Link
from porism.errors import PorismError
from porism.store.conformance.subject import ALL_IDS, ANSWERS, COMMENTS, LINKS, QUESTIONS, SOURCE, USERS, Subject

UNKNOWN_ID = 987654


def posts_are_as_they_were_written(subject: Subject) -> None:
    """A post has the attributes of its record, and its text with the formulas found in it."""
    content = subject.snapshot.content
    found = content.posts_by_id(ALL_IDS.tolist())
    for raw in (*QUESTIONS, *ANSWERS):
        post = found[raw.id]
        thread = raw.parent_id or raw.id
        about = (post.kind, post.thread_id, post.tags, post.score, post.created, post.owner_id, post.accepted_id)
        right = (raw.kind, thread, tuple(raw.tags.split()), raw.score, raw.created, raw.owner_id, raw.accepted_id)
        assert about == right, f"post {raw.id} is {about}, not {right}"
        assert post.source == SOURCE, f"post {raw.id} names {post.source!r} as its origin, not the writer's source"
    assert found[11].title.plain() == QUESTIONS[0].title, "question 11 has another title"
    assert [one.text for one in found[11].body.formulas] == ["a^2+b^2=c^2"], "question 11 has other formulas"
    numbers = [one.formula_id for one in found[41].body.formulas]
    assert list(content.formulas_by_id(numbers)) == numbers, "formulas in a text are not those of the content"


def batches_of_posts_agree(subject: Subject) -> None:
    """Threads, answers, comments, links, titles and users are those of the posts that are named."""
    content = subject.snapshot.content
    assert content.known_posts([11, 13, UNKNOWN_ID, 81]) == {11, 13}, "known posts are others"
    threads = content.threads_by_id([13, 21])
    assert [threads[13].question.id, threads[21].question.id] == [11, 21], "a post is in another thread"
    assert [post.id for post in threads[13].answers] == [12, 13], "a thread has other answers"
    assert [one.id for one in threads[13].comments] == [1001, 1002], "a thread has other comments"
    assert threads[13].links == (Link(11, 999, "related"),), "a thread has other links"
    answers = content.answers_by_question([11, 31, 21])
    assert {number: [post.id for post in own] for number, own in answers.items() if own} == {11: [12, 13], 21: [22]}
    comments = content.comments_by_post([22, 12, 11])
    assert {number: [one.id for one in own] for number, own in comments.items() if own} == {11: [1001], 22: [1003]}
    assert content.links_by_post([31]) == {31: [Link(31, 21, "duplicate")]}, "question 31 has other links"
    titles = content.titles_by_id([11, 21, UNKNOWN_ID])
    assert {number: text.plain() for number, text in titles.items()} == {
        11: QUESTIONS[0].title,
        21: QUESTIONS[1].title,
    }, "titles are others, or an unknown id was not left out"
    names = {number: user.name for number, user in content.users_by_id([1, 3, UNKNOWN_ID]).items()}
    assert names == {1: "Ada", 3: "Kurt"}, "users are others, or an unknown id was not left out"


def batches_of_formulas_agree(subject: Subject) -> None:
    """Formulas by post, by visual id and by expression are the same formulas; a list of uses is cut."""
    content = subject.snapshot.content
    of_posts = content.formulas_by_post([11, 13, 21])
    found = {(one.latex, one.kind) for one in of_posts[11]}
    assert found == {("a^2+b^2=c^2", "question"), ("c^2", "comment")}, "question 11 has other formulas"
    assert not of_posts.get(21), "question 21 has no formulas"
    first, second = sorted(
        (one for number in (11, 13) for one in of_posts[number] if one.latex == "a^2+b^2=c^2"), key=lambda one: one.id
    )
    assert first.visual_id == second.visual_id, "formulas that look the same must share a visual id"
    visual_id = first.visual_id
    same = content.instances([visual_id], 9)[visual_id]
    assert same == [first, second], "a formula has other occurrences, or they are not in the order of ids"
    assert content.instances([visual_id, -1], 1) == {visual_id: [first]}, "occurrences are not cut"
    spoken = next(one for one in of_posts[11] if one.kind == "comment")
    occurrences = content.instances([spoken.visual_id], 9)[spoken.visual_id]
    in_posts = [one for one in occurrences if one.kind != "comment"]
    assert spoken in occurrences, "a formula in a comment is no occurrence"
    returnable = content.instances([spoken.visual_id], 9, returnable=True)
    assert returnable.get(spoken.visual_id, []) == in_posts, "a run may return other formulas than those of posts"
    uses = content.uses([first.visual_id], 1, 10)[first.visual_id]
    assert [one.formula for one in uses.shown] == [first], (
        "the first use of a formula is another one, or they are not cut"
    )
    assert uses.posts == 2, "another number of posts uses a formula"
    assert uses.shown[0].title.plain() == content.titles_by_id([first.thread_id])[first.thread_id].plain(), (
        "a title differs"
    )
    expressions = content.expressions_by_formula([first.id, second.id])
    assert {one.latex for one in expressions.values()} == {"a^2+b^2=c^2"}, "formulas have other expressions"
    number = expressions[first.id].id
    assert content.expressions_by_id([number])[number] == expressions[first.id], "an expression differs by its id"
    visual = content.visuals_by_id([first.visual_id])[first.visual_id]
    assert (visual.formulas, visual.posts) == (2, 2), "a visual id counts other formulas or posts"
    assert content.is_listed(first), "without an official list every formula is listed"


def unknown_ids_are_refused_or_left_out(subject: Subject) -> None:
    """Batches of posts, threads, formulas, expressions and visual ids refuse an unknown id in one sentence; the others
    leave it out."""
    content = subject.snapshot.content
    refusing: tuple[Callable[[Sequence[int]], Any], ...] = (
        content.posts_by_id,
        content.threads_by_id,
        content.formulas_by_id,
        content.expressions_by_id,
        content.expressions_by_formula,
        content.visuals_by_id,
    )
    for batch in refusing:
        assert not batch([]), f"{batch.__name__}: no ids must give nothing"
        try:
            batch([UNKNOWN_ID])
        except PorismError:
            continue
        raise AssertionError(f"{batch.__name__} must refuse an unknown id with a PorismError")
    assert not content.instances([UNKNOWN_ID], 9), "instances must leave an unknown visual id out"
    for batch in (content.answers_by_question, content.comments_by_post, content.links_by_post):
        assert not any(batch([UNKNOWN_ID]).values()), f"{batch.__name__} must leave an unknown id out"
    unused = content.uses([UNKNOWN_ID], 5, 10).get(UNKNOWN_ID)
    assert unused is None or not unused.posts, "no post uses an unknown visual id"
    assert content.images(["none.png"]) == {}, "images must leave an unknown name out"


def streams_are_in_the_order_of_ids(subject: Subject) -> None:
    """Streams have everything, in the order of ids, and agree with the batches."""
    content = subject.snapshot.content
    questions, answers = ([one.id for one in posts] for posts in (QUESTIONS, ANSWERS))
    assert [one.id for one in content.posts()] == ALL_IDS.tolist(), "posts are others, or in another order"
    assert [one.id for one in content.posts("question")] == questions, "questions are others, or in another order"
    assert [one.id for one in content.posts("answer")] == answers, "answers are others, or in another order"
    assert list(content.question_ids()) == questions, "ids of questions are others"
    assert [one.question.id for one in content.threads()] == questions, "threads are others"
    assert [one.id for one in content.all_comments()] == [one.id for one in COMMENTS], "comments are others"
    links = sorted((one.post_id, one.other_id, one.kind) for one in LINKS)
    assert [(one.post_id, one.other_id, one.kind) for one in content.all_links()] == links, "links are others"
    assert not list(content.all_votes()), "a writer takes no votes by type"
    assert [one.name for one in content.users()] == [one.name for one in USERS], "users are others"
    assert [text.plain() for text in content.titles(2)] == [one.title for one in QUESTIONS[:2]], "titles are others"
    assert next(content.tags())[:] == ("geometry", 3), "the most common tag must come first"
    _formula_streams(content)


def _formula_streams(content: Content) -> None:
    formulas = list(content.formulas())
    assert [one.id for one in formulas] == sorted(one.id for one in formulas), "formulas are in another order"
    by_post = content.formulas_by_post(ALL_IDS.tolist())
    assert sorted(one.id for own in by_post.values() for one in own) == [one.id for one in formulas], "formulas differ"
    assert [one.formula.id for one in content.formulas_with_mathml()] == [one.id for one in formulas]
    assert list(content.formula_posts()) == sorted(one.post_id for one in formulas), "posts of formulas are others"
    occurrences = list(content.occurrences())
    assert [one.formula_id for one in occurrences] == [one.id for one in formulas if one.issue not in ("d", "dv")]
    expressions = {one.id: one for one in content.expressions()}
    assert {one.expression_id for one in occurrences} <= expressions.keys(), "an expression is missing"
    visuals = [one.id for one in content.visuals()]
    assert visuals == sorted({one.visual_id for one in occurrences}), "visual ids are others, or in another order"
    keys = {one.formula_id: one.visual_id for one in content.visual_keys()}
    assert keys == {one.id: one.visual_id for one in formulas}, "visual keys are those of other formulas"
    common = list(content.most_common(2))
    assert len(common) == 2, "the most common formulas are others"
    assert common[0].formulas >= common[1].formulas, "the most common formula must come first"


def facts_count_the_content(subject: Subject) -> None:
    """Counts are those of the streams, and the digest is that of the snapshot."""
    content = subject.snapshot.content
    for table, number in (
        ("posts", len(ALL_IDS)),
        ("comments", len(COMMENTS)),
        ("links", len(LINKS)),
        ("users", len(USERS)),
        ("formulas", sum(1 for _ in content.formulas())),
        ("visuals", sum(1 for _ in content.visuals())),
        ("tags", sum(1 for _ in content.tags())),
    ):
        assert content.count(table) == number, f"{table} are counted as {content.count(table)}, not {number}"
        assert content.facts["counts"][table] == number, f"the facts count other {table}"
    assert {"options", "sources", "ledger"} <= content.facts.keys(), "the facts lack options, sources or the ledger"
    assert content.has_votes, "posts have votes"
    assert content.has_dates, "posts have dates"
    assert content.first_own_formula is None, "there is no official list of formulas"
    assert content.digest == subject.snapshot.info.fingerprint, "the snapshot is of other content"
    assert content.name, "a collection must have a name"
    content.check_formulas()
