"""Official ids: formulas that a source lists with ids, visual ids and MathML of its own, as the files of the lab do.

`OfficialIds` is all that the rest of a build knows of them. As it is, it is for sources without any, such as a dump or
notes; `ListedIds` is for the others: listed formulas enter the collection with their ids, are located in texts by the
lab's rule, and are flagged where no text has them."""

from __future__ import annotations

import html
import re
import sqlite3
from collections.abc import Callable, Sequence
from typing import NamedTuple

from porism.corpus.build.expressions import NewExpression, Workspace
from porism.corpus.build.fields import make_field
from porism.corpus.build.work import COMMENT, FoundFormula, insert, note, number, progress, rows, top_id
from porism.corpus.content import batched
from porism.corpus.post import FormulaKind
from porism.corpus.sources.raw import OWN_IDS, Source
from porism.corpus.store.schema import FORMULA_KINDS
from porism.text.markup import MARKED_ID, MATH_CLASS, SPAN_CLOSE, decode_latex, math_span, math_spans, placeholder
from porism.text.read import fill, without_placeholders
from porism.text.segment import Segment, Text


class FormulaPlace(NamedTuple):
    """The field that a formula is in; `kind` is its place in FORMULA_KINDS."""

    post_id: int
    thread_id: int
    kind: int
    comment_id: int | None = None


class NumberedFormula(NamedTuple):
    """A formula that has an id: its expression and its LaTeX."""

    id: int
    expression_id: int
    latex: str


# Adds a formula of this LaTeX to the collection, with an official id or, for 0, a new one.
AddFormula = Callable[[str, FormulaPlace, int], NumberedFormula]


class OfficialIds:
    """What a build asks about official ids. Here are the answers for sources that have none."""

    def __init__(self, first_own_id: int | None) -> None:
        """`first_own_id` is where the ids of formulas start that the official list lacks, if there is such a list."""
        self.first_own_id = first_own_id

    def import_lists(self, on_batch: Callable[[], None]) -> None:
        """Add the formulas that sources list, and call `on_batch` now and then."""

    def with_spans(self, text: str, source: int, post: int, kind: int, comment: int | None = None) -> str:
        """Return a field in which each formula that its source lists for it is in an official span."""
        return text

    def read_batch(self, texts: Sequence[Text]) -> None:
        """Look up the official formulas that the fields of a batch mark."""

    def numbered(self, formula: Segment, place: FormulaPlace, add: AddFormula) -> Segment:
        """Return a formula of a text with its id and its expression."""
        added = add(formula.text, place, 0)
        return formula._replace(formula_id=added.id, expression_id=added.expression_id)

    def write_batch(self) -> None:
        """Store what `numbered` found out about the official formulas of a batch."""

    def segment_titles(self) -> None:
        """Store the titles of linked questions that the collection lacks."""

    def flag_unplaced(self) -> None:
        """Flag the listed formulas that the text of their post lacks."""


BATCH = 5000
CHUNK = 500  # ids of one query
FIRST_OWN_ID = "first own id"


class ListedFormula(NamedTuple):
    """A formula that a source lists, with its id (0: the build numbers it) and its MathML."""

    seq: int
    id: int
    post_id: int
    thread_id: int
    kind: FormulaKind
    comment_id: int | None
    visual_id: int | None
    old_visual_id: int | None
    issue: str
    latex: str
    mathml: str | None
    content: str | None


INSERT_FOUND = insert("found", FoundFormula)
INSERT_MARKED = "INSERT OR IGNORE INTO placed(formula_id, comment_id) VALUES(?, ?)"
LISTED_FORMULAS = """SELECT f.seq, f.id, f.post_id, f.thread_id, f.kind, f.comment_id, f.visual_id, f.old_visual_id,
    f.issue, f.latex,
    coalesce(f.mathml, (SELECT text FROM mathml m WHERE m.source = f.source AND m.id = f.id AND m.field = 'mathml')),
    coalesce(f.content, (SELECT text FROM mathml m WHERE m.source = f.source AND m.id = f.id AND m.field = 'content'))
    FROM formulas f NOT INDEXED WHERE f.source = ? AND f.seq > ? ORDER BY f.seq LIMIT ?"""
IN_WORK = "SELECT f.id, l.id, l.latex FROM found f JOIN latex l ON l.id = f.expression_id WHERE f.id IN ({})"
IN_STORE = "SELECT f.id, e.id, e.latex FROM formulas f JOIN expressions e ON e.id = f.expression_id WHERE f.id IN ({})"
OF_FIELD = """SELECT id FROM found
    WHERE post_id = ? AND kind = ? AND (comment_id IS NULL OR comment_id = ?) AND issue NOT LIKE 'd%' ORDER BY id"""
MARKS_FORMULAS = """SELECT EXISTS(SELECT 1 FROM posts WHERE source = ? AND form = 'placed')
    AND EXISTS(SELECT 1 FROM formulas WHERE source = ?)"""
UNPLACED = """post_id IN (SELECT id FROM posts WHERE form = 'placed') AND id NOT IN (SELECT formula_id FROM placed)
    AND id IN (SELECT id FROM formulas)"""
COMMENT_OF_MARK = """UPDATE found SET comment_id = (SELECT p.comment_id FROM placed p WHERE p.formula_id = found.id)
    WHERE kind = ? AND comment_id IS NULL"""


class ListedIds(OfficialIds):
    """The official ids of sources that have any."""

    def __init__(self, space: Workspace, sources: Sequence[Source], first_own_id: int | None) -> None:
        super().__init__(first_own_id)
        self._space = space
        self._sources = range(len(sources))
        self._is_official = first_own_id is not None or any(source.official for source in sources)
        self._lists = [bool(number(space.work, MARKS_FORMULAS, at, at)) for at in self._sources]
        # The ids that the fields of the current post mark; a post's comments follow it.
        self._post = (-1, 0)
        self._marked_in_post: set[int] = set()
        # Of the current batch: formulas that are known, those that no list has, and those that texts mark.
        self._known: dict[int, NumberedFormula] = {}
        self._unlisted: dict[int, NumberedFormula] = {}
        self._marked: list[tuple[int, int | None]] = []  # with the comment of the text

    def import_lists(self, on_batch: Callable[[], None]) -> None:
        """Add the formulas that sources list; those without an id get one."""
        work = self._space.work
        for source in self._sources:
            self._import_list(source, on_batch)
        if any(self._lists):
            work.execute("CREATE INDEX IF NOT EXISTS found_post ON found(post_id)")
        if not progress(work, FIRST_OWN_ID):
            lowest = OWN_IDS if self._is_official else 1
            note(work, FIRST_OWN_ID, self.first_own_id or max(top_id(work) + 1, lowest))
            work.commit()
        self.first_own_id = progress(work, FIRST_OWN_ID) if self._is_official else None

    def _import_list(self, source: int, on_batch: Callable[[], None]) -> None:
        work, ledger, stage = self._space.work, self._space.ledger, f"listed {source}"
        following = max(OWN_IDS if self._is_official else 1, top_id(work) + 1)
        after = progress(work, stage)
        while batch := rows(work, ListedFormula, LISTED_FORMULAS, source, after, BATCH):
            known = set(self._numbered([listed.id for listed in batch if listed.id]))
            formulas: list[ListedFormula] = []
            for listed in batch:
                if listed.id == 0:
                    listed, following = listed._replace(id=following), following + 1
                elif listed.id in known:
                    ledger.drop("formulas", "the id appeared before", f"formula {listed.id}")
                    continue
                known.add(listed.id)
                if not self._space.compat:  # then the lab's files are wanted as they are
                    listed = listed._replace(latex=decode_latex(listed.latex))
                formulas.append(listed)
            new = [NewExpression(one.latex, one.mathml, one.content, one.visual_id) for one in formulas]
            numbers = self._space.expressions.intern_all(new)
            work.executemany(INSERT_FOUND, [_found(*pair) for pair in zip(formulas, numbers, strict=True)])
            after = batch[-1].seq
            note(work, stage, after)
            ledger.save()
            work.commit()
            on_batch()

    def _numbered(self, ids: Sequence[int]) -> dict[int, NumberedFormula]:
        """Return the formulas of these ids that are in the new collection, or else in the one that is added to."""
        found = _look_up(self._space.work, IN_WORK, ids)
        if self._space.added_to and len(found) < len(ids):
            found |= _look_up(self._space.store, IN_STORE, [one for one in ids if one not in found])
        return found

    def with_spans(self, text: str, source: int, post: int, kind: int, comment: int | None = None) -> str:
        """Return a field in which each formula that its source lists for it is in an official span.

        A formula that the source assigns to no comment goes to the first one that has it."""
        if not self._lists[source] or not text:
            return text
        if self._post != (source, post):
            self._post, self._marked_in_post = (source, post), set()
        self._marked_in_post.update(marked_ids(text))
        listed = (row[0] for row in self._space.work.execute(OF_FIELD, (post, kind, comment)))
        if missing := [one for one in listed if one not in self._marked_in_post]:
            known = _look_up(self._space.work, IN_WORK, missing)
            text = insert_spans(without_placeholders(text), [known[one] for one in missing], self._space.compat)
            self._marked_in_post.update(marked_ids(text))
        return text

    def read_batch(self, texts: Sequence[Text]) -> None:
        """Look up the official formulas that the fields of a batch mark."""
        ids = dict.fromkeys(one.formula_id for text in texts for one in text.formulas if one.formula_id)
        self._known = self._numbered(list(ids))

    def numbered(self, formula: Segment, place: FormulaPlace, add: AddFormula) -> Segment:
        """Return a formula of a text with its ids. The LaTeX that a source lists wins over that of the text."""
        official = formula.formula_id
        if not official:
            return super().numbered(formula, place, add)
        known = self._known.get(official) or self._unlisted.get(official)
        if known is None:
            known = self._unlisted[official] = add(formula.text, place, official)
        self._marked.append((official, place.comment_id))
        return Segment("formula", known.latex, known.id, known.expression_id, formula.display)

    def write_batch(self) -> None:
        """Store which official formulas the texts of a batch mark."""
        self._space.work.executemany(INSERT_MARKED, self._marked)
        self._marked.clear()
        self._unlisted.clear()

    def segment_titles(self) -> None:
        """Store the titles of linked questions that the collection lacks; their formulas keep their official ids."""
        store, expressions = self._space.store, self._space.expressions
        for question, title in self._space.work.execute("SELECT id, title FROM titles ORDER BY seq").fetchall():
            if number(store, "SELECT EXISTS(SELECT 1 FROM posts WHERE id = ?)", question):
                continue
            text = make_field(title, "placed-text", False).text
            known = self._numbered([one.formula_id for one in text.formulas])
            formulas = []
            for one in text.formulas:
                same = known.get(one.formula_id)
                expression = expressions.intern(one.text) if same is None else same.expression_id
                formulas.append(one._replace(text=same.latex if same else one.text, expression_id=expression))
            stored = text.with_formulas(formulas).stored
            store.execute("INSERT OR IGNORE INTO titles VALUES(?, ?)", (question, stored))
        store.commit()

    def flag_unplaced(self) -> None:
        """Give issue d to listed formulas that no text has; add the comment of a formula where the list lacks it."""
        work = self._space.work
        query = f"SELECT id FROM found WHERE {UNPLACED} AND issue NOT LIKE 'd%' ORDER BY id"
        for (formula_id,) in work.execute(query).fetchall():
            self._space.ledger.drop("formulas", "given, but not in the text (issue d)", f"formula {formula_id}")
            work.execute("UPDATE found SET issue = 'd' || issue WHERE id = ?", (formula_id,))
        work.execute(COMMENT_OF_MARK, (COMMENT,))


def _found(listed: ListedFormula, expression: int) -> FoundFormula:
    place = (listed.post_id, listed.thread_id, FORMULA_KINDS.index(listed.kind), listed.comment_id)
    return FoundFormula(listed.id, *place, expression, listed.visual_id, listed.old_visual_id, listed.issue)


def _look_up(database: sqlite3.Connection, query: str, ids: Sequence[int]) -> dict[int, NumberedFormula]:
    known: dict[int, NumberedFormula] = {}
    for chunk in batched(ids, CHUNK):
        found = rows(database, NumberedFormula, query.format(", ".join("?" * len(chunk))), *chunk)
        known |= {formula.id: formula for formula in found}
    return known


LINE_ENDS = re.compile(r"\r\n|[\r\n]")
SPAN = f'<span class="{MATH_CLASS}">'
SPELLINGS = (
    f"{SPAN}$$ {{}} $${SPAN_CLOSE}",
    f"{SPAN}$${{}}$${SPAN_CLOSE}",
    f"{SPAN}${{}}${SPAN_CLOSE}",
    f"{SPAN}{{}}{SPAN_CLOSE}",
    "$${}$$",
    "${}$",
)
# Between two blanks: the lab's last resort, which made a formula of the word "a". Only to reproduce the lab.
LOOSE = (" {} ",)


def marked_ids(text: str) -> list[int]:
    """Return the ids of the official spans of a text."""
    return [int(identifier) for identifier in MARKED_ID.findall(text)]


def insert_spans(text: str, missing: Sequence[NumberedFormula], loose: bool) -> str:
    """Return the text with an official span for each formula that can be found in it."""
    spans: list[str] = []

    def freeze(piece: str) -> str:
        spans.append(piece)
        return placeholder(len(spans) - 1)

    text, at = LINE_ENDS.sub(" ", text), 0
    pieces: list[str] = []
    for span in math_spans(text):
        if span.id:
            pieces += (text[at : span.start], freeze(text[span.start : span.end]))
            at = span.end
    text = "".join([*pieces, text[at:]])
    forms = SPELLINGS + (LOOSE if loose else ())
    for formula in sorted(missing, key=lambda one: -len(one.latex)):
        written = {formula.latex, html.escape(formula.latex, quote=False), html.escape(formula.latex)}
        spelled = [(rank, form.format(inner)) for rank, form in enumerate(forms) for inner in written]
        # The spelling that occurs first is taken, of those at one position the one with the lowest rank.
        places = ((start, rank, one) for rank, one in spelled if (start := text.find(one)) >= 0)
        first = min(places, default=None)
        if first is not None:
            start, _, spelling = first
            text = text[:start] + freeze(math_span(formula.latex, formula.id)) + text[start + len(spelling) :]
    return fill(text, lambda at: spans[at])


LISTED = "SELECT EXISTS(SELECT 1 FROM formulas) OR EXISTS(SELECT 1 FROM titles)"


def official_ids(space: Workspace, sources: Sequence[Source], first_own_id: int | None) -> OfficialIds:
    """Return the official ids of the sources. `first_own_id` is that of the collection that is added to."""
    if not any(source.official for source in sources) and not number(space.work, LISTED):
        return OfficialIds(first_own_id)
    return ListedIds(space, sources, first_own_id)
