"""Checks of what ranking and pages read of hits: threads, formulas, posts, positions, and what is learned."""

from __future__ import annotations

from collections import Counter

import numpy as np

from porism.analysis.features import features
from porism.analysis.schema import EVERY_FIELD, FAMILIES, FIELDS, VISUAL_FAMILY
from porism.analysis.terms import feature_terms
from porism.formula.binary import unpack
from porism.store.conformance.subject import ALL_IDS, ANSWERS, QUESTIONS, Subject
from porism.store.records import UNKNOWN, Term

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
    """The formulas of a search are the distinct ones of the content: visual ids, LaTeX, and the threads that use
    them."""
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
    """Each label has an id and a weight in both trees, none above that of an unseen label; rare path keys weigh
    more."""
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
