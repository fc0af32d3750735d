"""Requested changes of a collection, before they are written, and changes as JSON Lines, one record on each line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast, get_args

from porism.corpus.post import LinkKind
from porism.corpus.sources import raw
from porism.corpus.sources.raw import RawComment, RawLink, RawPost, Record, RowError
from porism.errors import PorismError
from porism.formula.characters import xml_text
from porism.limits import limit


@dataclass
class Changes:
    """Records to put and ids to delete. A record that is put replaces the one with its id."""

    posts: dict[int, RawPost] = field(default_factory=dict)
    comments: dict[int, RawComment] = field(default_factory=dict)
    users: dict[int, raw.RawUser] = field(default_factory=dict)
    links: dict[tuple[int, int, str], RawLink] = field(default_factory=dict)
    images: dict[str, raw.RawImage] = field(default_factory=dict)
    deleted_posts: set[int] = field(default_factory=set)
    deleted_comments: set[int] = field(default_factory=set)
    deleted_links: set[tuple[int, int, str]] = field(default_factory=set)

    def __bool__(self) -> bool:
        return any((self.posts, self.comments, self.users, self.links)) or any(
            (self.deleted_posts, self.deleted_comments, self.deleted_links)
        )

    def put(self, records: Iterable[Record]) -> None:
        """Add or replace records. Votes, badges and revisions are not taken; official formulas are refused."""
        for record in records:
            if isinstance(record, RawPost):
                _check_form(record.form, f"post {record.id}")
                self.posts[record.id] = record
                self.deleted_posts.discard(record.id)
            elif isinstance(record, RawComment):
                _check_form(record.form, f"comment {record.id}")
                self.comments[record.id] = record
                self.deleted_comments.discard(record.id)
            elif isinstance(record, RawLink):
                key = (record.post_id, record.other_id, record.kind)
                self.links[key] = record
                self.deleted_links.discard(key)
            elif isinstance(record, raw.RawUser):
                self.users[record.id] = record
            elif isinstance(record, raw.RawImage):
                self.images[record.name] = record
            elif isinstance(record, raw.Dropped):
                raise PorismError(f"{record.what}: {record.why}", where=record.where, fix="correct the record")

    def delete(self, posts: Iterable[int]) -> None:
        """Delete posts: an answer, or a question with its answers. Their comments and links go with them."""
        for number in posts:
            self.posts.pop(number, None)
            self.deleted_posts.add(number)

    def delete_comments(self, comments: Iterable[int]) -> None:
        """Delete comments."""
        for number in comments:
            self.comments.pop(number, None)
            self.deleted_comments.add(number)

    def delete_links(self, links: Iterable[RawLink]) -> None:
        """Delete links between questions."""
        for link in links:
            key = (link.post_id, link.other_id, link.kind)
            self.links.pop(key, None)
            self.deleted_links.add(key)


class PendingChanges:
    """The changes that the next commit of a writer makes."""

    def __init__(self) -> None:
        self.changes = Changes()

    def put(self, records: Iterable[Record]) -> None:
        """Add posts, comments, links and users; a record replaces the one with its id."""
        self.changes.put(records)

    def delete(self, posts: Iterable[int]) -> None:
        """Delete posts: an answer, or a question with its answers. Unknown ids are ignored."""
        self.changes.delete(posts)

    def delete_comments(self, comments: Iterable[int]) -> None:
        """Delete comments. Unknown ids are ignored."""
        self.changes.delete_comments(comments)

    def delete_links(self, links: Iterable[RawLink]) -> None:
        """Delete links between questions."""
        self.changes.delete_links(links)


def _check_form(form: str, where: str) -> None:
    if form.startswith("placed"):
        fix = "build the collection again from its sources"
        raise PorismError("has official formula ids, which updates do not take", where=where, fix=fix)


LINE = '{"id": 5, "title": "...", "body": "<p>...</p>", "tags": ["algebra"]}'
LONGEST_TITLE = 1000
MOST_TAGS = 50
MOST_TOKENS = 1000  # strings of a record, and signs of JSON between them; a post with all keys and 50 tags has 150
TAG = re.compile(r"[^\s<>|]{1,100}")
DATE = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?")


def _id(value: object, name: str) -> int:
    number = raw.checked_number(value, name)
    if number < 1:
        raise RowError(f"{name} is not a positive number")
    return number


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise RowError(f"{name} is not a string")
    return xml_text(value)


def _short_text(value: object, name: str, most: int) -> str:
    text = _text(value, name)
    if len(text) > most:
        raise RowError(f"{name} of more than {most:,} characters")
    return text


def _body(value: object, name: str) -> str:
    text = _short_text(value, name, limit("post_characters"))
    if text.count("<") > (tags := limit("post_tags")):
        raise RowError(f"{name} of more than {tags:,} tags")
    return text


def _date(value: object, name: str) -> str:
    text = _text(value, name)
    try:
        well_formed = not text or bool(DATE.fullmatch(text) and datetime.fromisoformat(text))
    except ValueError:  # a thirteenth month
        well_formed = False
    if not well_formed:
        raise RowError(f"{name} is not a date such as 2024-05-31 or 2024-05-31T12:00:00")
    return text


def _tags(value: object, name: str) -> str:
    given = value.split() if isinstance(value, str) else value
    if not isinstance(given, list) or not all(isinstance(tag, str) and TAG.fullmatch(tag) for tag in given):
        raise RowError(f'{name} is not a list of tags such as ["algebra", "number-theory"]')
    if len(given) > MOST_TAGS:
        raise RowError(f"{name} has more than {MOST_TAGS} entries")
    return xml_text(" ".join(given))


def _kind(value: object, name: str) -> str:
    if value not in ("question", "answer"):
        raise RowError(f"{name} is not question or answer")
    return str(value)


@dataclass(frozen=True, slots=True)
class _Key:
    """A key of a record: how its value is checked, and the value of a record without it; a required key has none.

    Where that value is None, so may be the one that is given."""

    check: Callable[[object, str], Any]
    default: Any = None
    required: bool = False


POST = {
    "id": _Key(_id, required=True),
    "kind": _Key(_kind, ""),
    "parent_id": _Key(_id),
    "title": _Key(lambda value, name: _short_text(value, name, LONGEST_TITLE), ""),
    "body": _Key(_body, required=True),
    "tags": _Key(_tags, ""),
    "score": _Key(raw.checked_number, 0),
    "created": _Key(_date, ""),
    "owner_id": _Key(_id),
    "accepted_id": _Key(_id),
    "views": _Key(raw.checked_number),
    "closed": _Key(_date, ""),
}
COMMENT = {
    "comment": _Key(_id, required=True),
    "post_id": _Key(_id, required=True),
    "body": _Key(lambda value, name: _short_text(value, name, limit("comment_characters")), required=True),
    "score": _Key(raw.checked_number, 0),
    "created": _Key(_date, ""),
    "owner_id": _Key(_id),
}
DELETE = {"delete": _Key(_id, required=True)}
DELETE_COMMENT = {"delete_comment": _Key(_id, required=True)}


def _values(record: Mapping[str, object], keys: Mapping[str, _Key]) -> dict[str, Any]:
    """Return the checked values of a record."""
    if unknown := sorted(record.keys() - keys.keys()):
        raise RowError(f"unknown key {unknown[0][:40]!r}")
    if missing := [name for name, key in keys.items() if key.required and name not in record]:
        raise RowError(f"the {missing[0]} is missing")
    found: dict[str, Any] = {}
    for name, key in keys.items():
        value = record.get(name)
        is_null = value is None and key.default is None and not key.required
        found[name] = key.check(value, name) if name in record and not is_null else key.default
    return found


def take_record(changes: Changes, record: object) -> None:
    """Add one record to changes. What is wrong with it is a RowError, or another of FAULTS."""
    if not isinstance(record, dict):
        raise RowError("not an object")
    if "delete" in record:
        changes.delete([_values(record, DELETE)["delete"]])
    elif "delete_comment" in record:
        changes.delete_comments([_values(record, DELETE_COMMENT)["delete_comment"]])
    elif "link" in record:
        changes.put([_link(record)])
    elif "comment" in record:
        values = _values(record, COMMENT)
        changes.put([RawComment(values.pop("comment"), form="text", **values)])
    else:
        changes.put([_post(record)])


def _link(record: Mapping[str, Any]) -> RawLink:
    ends, kind = record["link"], record.get("kind", "related")
    if not isinstance(ends, list) or len(ends) != 2 or record.keys() - {"link", "kind"}:
        raise RowError('is not a link such as {"link": [70, 3]}')
    if kind not in get_args(LinkKind):
        raise RowError(f"kind is not one of {', '.join(get_args(LinkKind))}")
    return RawLink(_id(ends[0], "link"), _id(ends[1], "link"), kind)


def _post(record: Mapping[str, object]) -> RawPost:
    values = _values(record, POST)
    kind = values["kind"] = values["kind"] or ("question" if values["parent_id"] is None else "answer")
    if (kind == "answer") != (values["parent_id"] is not None):
        raise RowError("an answer has a parent_id, and a question has none")
    if values["parent_id"] == values["id"]:
        raise RowError("an answer cannot be its own question")
    return RawPost(form="html", **values)


def parse_line(line: str) -> object:
    """Return a line as JSON. One with more values than any record has is refused before anything is built of it."""
    bare = line.replace("\\\\", "").replace('\\"', "")  # every quote that is left begins or ends a string
    strings, outside = bare.count('"') // 2, bare.split('"', 2 * MOST_TOKENS)[::2]
    if strings > MOST_TOKENS or sum(part.count(sign) for part in outside for sign in "[{:,") > MOST_TOKENS:
        raise RowError(f"a record with more than {MOST_TOKENS:,} strings, numbers or brackets")
    return json.loads(line)


def checked_records(lines: Iterable[str], where: str, changes: Changes) -> Iterator[dict[str, Any]]:
    """Add the records of JSON Lines to changes, and yield each. The first wrong line is reported by its number."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                record = parse_line(line)
                take_record(changes, record)
            except raw.FAULTS as error:
                place = f"{where}:{number}"
                raise PorismError(f"not a valid change: {error}", where=place, fix=f"write {LINE}") from None
            yield cast(dict[str, Any], record)


def read_json_lines(lines: Iterable[str], where: str) -> Changes:
    """Read changes from JSON Lines."""
    changes = Changes()
    for _ in checked_records(lines, where, changes):
        pass
    return changes
