"""Changes as JSON Lines: what is right is read, and anything else is a PorismError with its line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from porism.corpus.sources.raw import RawComment, RawLink, RawPost
from porism.corpus.update.changes import read_json_lines
from porism.errors import PorismError

KEYS = ("id", "kind", "parent_id", "title", "body", "tags", "score", "created", "owner_id", "accepted_id", "views")
NAMES = st.sampled_from((*KEYS, "closed", "comment", "post_id", "link", "delete", "delete_comment", "x"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(("answer", "2020-01-02")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip


def test_records_are_read() -> None:
    lines = (
        '{"id": 5, "title": "T", "body": "<p>b</p>", "tags": ["a", "b-c"], "score": -2, "created": "2024-05-31T12:00:00Z"}',
        "",
        '{"id": 6, "parent_id": 5, "body": "\\ud800\\u0000"}',
        '{"comment": 7, "post_id": 6, "body": "c", "score": 1}',
        '{"link": [5, 9], "kind": "duplicate"}',
        '{"delete": 10}',
        '{"delete_comment": 11}',
    )
    changes = read_json_lines(lines, "here")
    assert list(changes.posts.values()) == [
        RawPost(5, "question", None, "T", "<p>b</p>", "html", "a b-c", -2, "2024-05-31T12:00:00Z"),
        RawPost(6, "answer", 5, "", "\ufffd\ufffd", "html"),
    ]
    assert list(changes.comments.values()) == [RawComment(7, 6, "c", "text", 1)]
    assert list(changes.links.values()) == [RawLink(5, 9, "duplicate")]
    assert (changes.deleted_posts, changes.deleted_comments) == ({10}, {11})


@given(st.dictionaries(NAMES, VALUES, max_size=5))
def test_any_record_is_read_or_refused(record: dict[str, object]) -> None:
    where, read = "", 0
    try:
        found = read_json_lines([json.dumps(record)], "here")
        read = sum(map(len, (found.posts, found.comments, found.links, found.deleted_posts, found.deleted_comments)))
    except PorismError as error:
        where = error.where
    assert (where, read) in (("here:1", 0), ("", 1))


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ('{"id": 0, "body": ""}', "id is not a positive number"),
        ('{"id": 1e3, "body": ""}', "id is not a number"),
        ('{"id": 9999999999999999, "body": ""}', "id has more than 15 digits"),
        ('{"id": 1, "body": "", "title": "' + "x" * 1001 + '"}', "title of more than 1,000 characters"),
        ('{"id": 1, "body": "", "parent_id": 5, "kind": "question"}', "a question has none"),
        ('{"id": 1, "body": "", "parent_id": 1}', "an answer cannot be its own question"),
        ('{"id": 1, "body": "", "created": "2024-13-01"}', "created is not a date"),
        ('{"id": 1, "body": "", "closed": "2024-01-01T25:00"}', "closed is not a date"),
        ('{"delete": "5"}', "delete is not a number"),
        ('{"delete": 5, "id": 5}', "unknown key 'id'"),
    ],
)
def test_wrong_values_are_named(line: str, fact: str) -> None:
    with pytest.raises(PorismError) as error:
        read_json_lines([line], "here")
    assert fact in str(error.value)


@pytest.mark.parametrize(
    "line",
    [
        "{" + ",".join(f'"{number}":1' for number in range(100_000)) + "}",
        '{"id":1,"body":"x","tags":[' + ",".join(["1"] * 100_000) + "]}",
        '{"id":1,"body":"x","tags":' + "[" * 50_000 + "]" * 50_000 + "}",
        '{"a":' * 50_000,
        '"' * 100_000,
        '{"id":1,"body":"\\\\","tags":[' + '"",' * 50_000 + '""]}',
    ],
)
def test_a_record_with_too_many_values_is_refused_before_it_is_built(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parsed(text: str) -> None:
        raise AssertionError("the line was parsed")

    monkeypatch.setattr("porism.corpus.update.changes.json.loads", parsed)
    with pytest.raises(PorismError, match="a record with more than 1,000 strings, numbers or brackets"):
        read_json_lines([line], "here")


@pytest.mark.parametrize("text", ['"', "\\", '\\"', '"[{,:' * 5000, "\\\\" * 5000, '\\"' * 5000 + "[" * 5000])
def test_signs_inside_a_text_do_not_count(text: str) -> None:
    assert read_json_lines([json.dumps({"id": 1, "body": text, "tags": ["x"] * 50})], "here")
