"""Official formulas that the text of their post does not mark with their id."""

from __future__ import annotations

import re
import sqlite3

from porism.corpus.build.placing import insert_spans
from porism.text.html import without_tokens

MARKED = re.compile(r'<span class="math-container" id="([0-9]+)">')
QUERY = """SELECT f.id, l.latex FROM found f JOIN latex l ON l.id = f.expression_id
    WHERE f.post_id = ? AND f.kind = ? AND (f.comment_id IS NULL OR f.comment_id = ?) AND f.issue NOT LIKE 'd%' ORDER BY f.id"""


class Missing:
    """Finds them for the fields of one source; nothing to do where a source gives no formulas."""

    def __init__(self, work: sqlite3.Connection, source: int) -> None:
        self._work = work
        # What the fields of the post so far have marked; a post's comments come right after it.
        self._post = 0
        self._marked: set[int] = set()
        exists = "SELECT EXISTS(SELECT 1 FROM posts WHERE source = ? AND form = 'placed') AND EXISTS(SELECT 1 FROM formulas WHERE source = ?)"
        self._any = bool(work.execute(exists, (source, source)).fetchone()[0])
        if self._any:
            work.execute("CREATE INDEX IF NOT EXISTS found_post ON found(post_id)")

    def insert(self, text: str, post: int, kind: int, comment: int | None, loose: bool) -> str:
        """A field with spans for all formulas that the source says it has; a formula of no named comment goes to the first with it."""
        if not self._any or not text:
            return text
        if post != self._post:
            self._post, self._marked = post, set()
        self._marked.update(map(int, MARKED.findall(text)))
        given = self._work.execute(QUERY, (post, kind, comment)).fetchall()
        missing = [(number, latex) for number, latex in given if number not in self._marked]
        if not missing:
            return text
        text = insert_spans(without_tokens(text), missing, loose)
        self._marked.update(map(int, MARKED.findall(text)))
        return text
