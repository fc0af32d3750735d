"""One passage for a question: from the best answers, at most 1,200 characters, formulas whole."""

from __future__ import annotations

import time
from collections.abc import Sequence

from porism.corpus.store.collection import Collection
from porism.records import Hit
from porism.search.display.results import Extract, Segment, Source
from porism.search.display.snippet import Shower, plain_title

LIMIT = 1200  # characters, by the lab's rule
TRIED = 5  # answers that are looked at
SHORT = 80  # a passage this short says little: the next answer may say more


def extract(
    collection: Collection, hits: Sequence[Hit], shower: Shower, notes: tuple[str, ...], began: float
) -> Extract:
    """The best passage of the best answer that has something to say."""
    best: tuple[str, tuple[Segment, ...], Source] | None = None
    for hit in hits[:TRIED]:
        post = collection.post(hit.id)
        shown = shower.passage(post.body, LIMIT)
        text = as_text(shown)
        source = Source(post.id, post.thread_id, plain_title(collection.title(post.thread_id) or ""))
        if best is None or len(best[0]) < SHORT:
            best = (text, shown, source)
        if len(text) >= SHORT:
            break
    if best is None:
        return Extract("", (), (), time.perf_counter() - began, notes=(*notes, "nothing was found"))
    return Extract(best[0], best[1], (best[2],), time.perf_counter() - began, notes=notes)


def as_text(shown: Sequence[Segment]) -> str:
    """Segments as text with LaTeX between dollar signs; no other dollar sign is left, so their number is even."""
    pieces = [f"${_plain(one.text)}$" if one.kind == "formula" else one.text.replace("$", "\uff04") for one in shown]
    return " ".join("".join(pieces).split())


def _plain(latex: str) -> str:
    return latex.replace("$", "").strip()
