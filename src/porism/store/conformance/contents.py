"""Checks of what pages and ranking read: content by id and in streams, threads, formulas, posts, what is learned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from porism.analysis.features import features
from porism.analysis.schema import EVERY_FIELD, FAMILIES, FIELDS, VISUAL_FAMILY
from porism.analysis.terms import feature_terms
from porism.corpus.content import Content
from porism.corpus.post import Link
from porism.errors import PorismError
from porism.formula.binary import unpack
from porism.store.conformance.subject import ALL_IDS, ANSWERS, COMMENTS, LINKS, QUESTIONS, SOURCE, USERS, Subject
from porism.store.records import UNKNOWN, Term

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


NO_POST = 987654


def threads_come_in_the_order_requested(subject: Subject) -> None:
    """Threads come in the order requested, the question first, with the year and the acceptance of each post."""
    numbers = subject.numbers[::-1].copy()
    batch = subject.snapshot.threads(numbers, ())
    assert batch.numbers.tolist() == numbers.tolist(), "threads must come in the order requested"
    answers = {one.id: [post.id for post in ANSWERS if post.parent_id == one.id] for one in QUESTIONS}
    right = [number for one in reversed(QUESTIONS) for number in (one.id, *answers[one.id])]
    assert batch.post_ids.tolist() == right, "posts of a thread must be its question, then its answers by id"
    sizes = [1 + len(answers[one.id]) for one in reversed(QUESTIONS)]
    assert (batch.ends - batch.starts).tolist() == sizes, "starts and ends are not those of the threads"
    posts = {post.id: post for post in (*QUESTIONS, *ANSWERS)}
    years = [int(posts[number].created[:4] or 0) for number in right]
    assert batch.years.tolist() == years, "a post has another year than its date"
    chosen = {number for one in QUESTIONS if one.accepted_id for number in (one.id, one.accepted_id)}
    assert batch.accepted.tolist() == [number in chosen for number in right], "accepted answers are others"
    assert not len(subject.snapshot.threads(np.empty(0, np.int64), FAMILIES).post_ids), "no threads must have no posts"


def records_hold_the_terms_of_their_posts(subject: Subject) -> None:
    """A post has the terms of its text in each family, by field, with their counts, and its lengths."""
    batch = subject.all_threads(FAMILIES)
    assert set(batch.terms) == set(FAMILIES), "a batch must have the families requested"
    for family in FAMILIES:
        texts = sorted({text for post in subject.expected.values() for _, text in post.counts[family]})
        keys = subject.snapshot.statistics([Term(family, text) for text in texts]).keys.tolist()
        assert UNKNOWN not in keys, f"{family}: a term of a post is unknown"
        assert len(set(keys)) == len(keys), f"{family}: two terms have the same key"
        key_of = dict(zip(texts, keys, strict=True))
        rows = batch.terms[family]
        for at, number in enumerate(batch.post_ids.tolist()):
            right: Counter[tuple[str, int]] = Counter()
            for (field, text), count in subject.expected[number].counts[family].items():
                right[field, key_of[text]] += count
            found: Counter[tuple[str, int]] = Counter()
            for entry in range(int(rows.starts[at]), int(rows.ends[at])):
                found[FIELDS[int(rows.fields[entry])], int(rows.keys[entry])] += int(rows.counts[entry])
            assert found == right, f"post {number}: other {family} than its text has"
            lengths = [sum(count for (name, _), count in right.items() if name == field) for field in FIELDS]
            assert rows.lengths[at].tolist() == lengths, f"post {number}: other lengths in {family} than its text has"


def records_come_with_a_lookup_of_their_terms(subject: Subject) -> None:
    """By their keys, terms of records have frequencies, words have texts, and formulas have numbers."""
    batch = subject.all_threads(("words", VISUAL_FAMILY))
    texts = sorted({text for post in subject.expected.values() for _, text in post.counts["words"]})
    known = subject.snapshot.statistics([Term("words", text) for text in texts])
    assert batch.lookup.texts("words", known.keys) == texts, "keys of words must lead to their texts"
    found = batch.lookup.documents("words", known.keys).tolist()
    assert found == known.documents.tolist(), "a lookup has other frequencies than the statistics"
    keys = batch.terms[VISUAL_FAMILY].distinct()
    numbers = batch.lookup.formulas(keys)
    assert (numbers != UNKNOWN).all(), "every formula of a post must have a number"
    assert len(np.unique(numbers)) == len(keys), "two formulas have the same number"
    usage = subject.snapshot.formulas(numbers).records.usage(numbers)
    assert usage.keys.tolist() == keys.tolist(), "a formula has another key than the posts name it by"
    assert usage.documents.tolist() == batch.lookup.documents(VISUAL_FAMILY, keys).tolist(), "other numbers of threads"


def posts_are_located(subject: Subject) -> None:
    """A post is in a thread, at its position there; an unknown one is nowhere."""
    batch = subject.all_threads(())
    found = subject.snapshot.locate(batch.post_ids)
    sizes = batch.ends - batch.starts
    assert found.threads.tolist() == np.repeat(batch.numbers, sizes).tolist(), "a post is located in another thread"
    positions = np.arange(len(batch.post_ids)) - np.repeat(batch.starts, sizes)
    assert found.positions.tolist() == positions.tolist(), "a post is located at another position of its thread"
    missing = subject.snapshot.locate(np.array([NO_POST, 11, -5], np.int64)).threads
    assert missing.tolist() == [UNKNOWN, subject.numbers[0], UNKNOWN], "an unknown post must be located nowhere"


def posts_come_with_their_questions(subject: Subject) -> None:
    """Posts come in the order requested, each with its question and whether it is the accepted answer."""
    ids = [42, 11, 13, 12, 22, 31]
    found = subject.snapshot.posts(ids).posts
    assert [one.post.id for one in found] == ids, "posts must come in the order requested"
    assert [one.question.id for one in found] == [41, 11, 11, 11, 21, 31], "a post comes with another question"
    assert [one.accepted for one in found] == [True, False, True, False, False, False], "accepted answers are others"
    title = "Proof of the Pythagorean theorem"
    assert found[2].question.title.plain() == title, "the question of an answer has another title"
    assert subject.snapshot.posts([]).posts == [], "no ids must have no posts"


def posts_tell_the_parts_of_their_formulas(subject: Subject) -> None:
    """Of requested sub-expressions, each formula of a post has those that its tree has."""
    content = subject.snapshot.content
    formulas = content.formulas_by_post([11, 13])
    expressions = content.expressions_by_formula([one.id for own in formulas.values() for one in own])
    parts = {one.id: feature_terms(features(*unpack(one.trees)))["parts"] for one in expressions.values()}
    wanted = [*dict.fromkeys(term for own in parts.values() for term in own), "0" * 18]
    found = subject.snapshot.posts([11, 13], wanted).parts
    for number, own in parts.items():
        right = {wanted.index(term) for term in own}
        assert set(found.of(number)) == right, f"expression {number}: other sub-expressions than its tree has"
    assert not list(subject.snapshot.posts([11]).parts.of(next(iter(parts)))), "no sub-expressions were requested"


def formulas_come_in_the_order_requested(subject: Subject) -> None:
    """A batch of formulas has the symbols and paths of their trees, in the order requested."""
    numbers = subject.formula_numbers[::-1].copy()
    batch = subject.snapshot.formulas(numbers)
    assert batch.numbers.tolist() == numbers.tolist(), "formulas must come in the order requested"
    names = {number: label for label, number in subject.snapshot.learned.symbols.labels.items()}
    for at, packed in enumerate(batch.records.trees(numbers)):
        found = features(*unpack(packed))
        for sequences, tree in ((batch.layout, found.layout.labels), (batch.operators, found.operators.labels)):
            own = sequences.labels[sequences.starts[at] : sequences.ends[at]].tolist()
            assert [names[label] for label in own] == tree, f"formula {numbers[at]}: other symbols than its tree has"
        edges = batch.layout.edges[batch.layout.starts[at] : batch.layout.ends[at]].tolist()
        assert edges == list(found.layout.edges), f"formula {numbers[at]}: other edges than its tree has"
        own = slice(int(batch.paths.starts[at]), int(batch.paths.ends[at]))
        assert batch.paths.keys[own].tolist() == found.tree_paths.keys.tolist(), "other paths than the tree has"
        assert batch.paths.above[own].tolist() == found.tree_paths.above.tolist(), "paths with other upper ends"
        assert batch.paths.leaves[at] == found.tree_paths.leaves, f"formula {numbers[at]}: wrong number of leaves"
    assert not len(subject.snapshot.formulas(np.empty(0, np.int64)).visual_ids), "no formulas were requested"


def formulas_are_those_of_the_content(subject: Subject) -> None:
    """The formulas of a search are the distinct ones of the content: visual ids, LaTeX, threads that use them."""
    numbers, content = subject.formula_numbers, subject.snapshot.content
    batch = subject.snapshot.formulas(numbers)
    visuals = {one.id: one for one in content.visuals()}
    assert sorted(batch.visual_ids.tolist()) == sorted(visuals), "the content has other distinct formulas"
    first = content.expressions_by_id([visuals[number].expression_id for number in batch.visual_ids.tolist()])
    right = [first[visuals[number].expression_id].latex for number in batch.visual_ids.tolist()]
    assert batch.records.latex(numbers) == right, "a formula has other LaTeX than its first occurrence"
    usage = batch.records.usage(numbers)
    for visual_id, threads in zip(batch.visual_ids.tolist(), usage.documents.tolist(), strict=True):
        using = {one.thread_id for one in content.instances([visual_id], 1000)[visual_id]}
        assert threads == len(using), f"visual id {visual_id}: {threads} threads use it, not {len(using)}"


def symbols_have_weights(subject: Subject) -> None:
    """Each label has an id and weights in both trees, none above an unseen one; rare path keys weigh more."""
    symbols = subject.snapshot.learned.symbols
    assert sorted(symbols.labels.values()) == list(range(len(symbols.labels))), "ids of labels must be 0, 1, 2, ..."
    for weights in (symbols.layout_weights, symbols.operator_weights):
        assert len(weights) >= len(symbols.labels), "each label must have a weight"
        assert (weights <= symbols.unseen_label_weight + 1e-9).all(), "no label may weigh more than an unseen one"
    paths = subject.snapshot.formulas(subject.formula_numbers).paths
    keys = np.append(np.unique(paths.keys), np.uint32(7)).astype(np.uint32)
    weights = symbols.inverse_path_frequency(keys)
    assert (weights >= 0).all(), "a path key weighs less than nothing"
    assert weights[-1] >= weights.max() - 1e-9, "an unseen path key must weigh as much as one that was seen once"


def what_is_learned_fits_the_records(subject: Subject) -> None:
    """Vectors of queries are as long as those of threads; words and concepts can be read."""
    learned = subject.snapshot.learned
    for family, basis in learned.vectors.items():
        threads = subject.snapshot.threads(subject.numbers, [], [family]).vectors[family]
        assert len(threads) == len(subject.numbers), f"{family}: every thread must have a vector"
        keys = subject.all_threads([family]).terms[family].distinct()
        query = basis.query(keys, np.ones(len(keys), np.float32))
        assert query.shape == threads.shape[1:], f"{family}: vectors of queries and threads differ in length"
        nothing = basis.query(np.empty(0, np.int64), np.empty(0, np.float32))
        assert not nothing.any(), f"{family}: a query without terms must have the vector 0"
    assert all(count > 0 for count in learned.vocabulary.counts.values()), "a word of the vocabulary occurs nowhere"
    assert all(one.posts > 0 for one in learned.concepts), "a concept occurs in no post"


def titles_and_tags_are_fields(subject: Subject) -> None:
    """The words of the title are in the field `title`, tags in the family of whole tags."""
    batch = subject.all_threads(("words", "tag"))
    at = batch.post_ids.tolist().index(11)
    for family, field, text in (
        ("words", "title", "pythagorean"),
        ("tag", "tags", "triangles"),
        ("words", "linked_titles", ""),
    ):
        rows = batch.terms[family]
        own = slice(int(rows.starts[at]), int(rows.ends[at]))
        keys = rows.keys[own][rows.fields[own] == FIELDS.index(field)].tolist()
        key = subject.snapshot.statistics([Term(family, text)]).keys[0] if text else UNKNOWN
        assert not text or key in keys, f"{text} is not in the field {field} of question 11"
        assert text or not keys, "question 11 links to a question outside the collection, whose title is unknown"
    assert subject.snapshot.info.lengths("tag", EVERY_FIELD).length == sum(
        len(one.tags.split()) for one in QUESTIONS
    ), "tags are counted wrongly"
    assert len(batch.post_ids) == len(ALL_IDS), "a post is missing"
