"""Compile the loops that read an index of several segments, before the first change needs them.

numba caches machine code on disk. In a fresh installation nothing is cached, and the first search after a change would wait for seconds.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.corpus.sources.raw import RawPost
from porism.search.engine import Engine
from porism.store import open_content, open_store
from porism.store.maintenance import build_index

NOTE = "# The square root of {number}\n\nWhy is $\\sqrt{{{number}}}+x^2=y^{number}$ irrational? See $a^2+b^2=c^2$.\n"
QUERY = "square root $\\sqrt{2}+x^2$"


def warm_up_segments() -> None:
    """Search a very small index of two segments, so that its loops are compiled and cached."""
    with TemporaryDirectory(prefix="porism-") as name:
        folder = Path(name)
        notes = folder / "notes"
        notes.mkdir()
        for number in (2, 3, 5):
            (notes / f"{number}.md").write_text(NOTE.format(number=number), "utf-8")
        made = build([open_source(notes, "")], folder / "collection", jobs=1)
        build_index(open_content(made), folder / "index")
        with open_store(folder / "index").writer() as writer:
            writer.put([RawPost(10**6, "question", None, "The square root of 7", NOTE.format(number=7), "html")])
            writer.commit()
        engine = Engine.open(folder / "index")
        engine.search(QUERY, k=1)
        engine.search(QUERY, k=1, kind="questions")
        engine.formulas("\\sqrt{x}", k=3)
