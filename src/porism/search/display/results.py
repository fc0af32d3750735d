"""Results of the engine: the records that pages, API, command line and notebooks show, and their HTML."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from porism.corpus.post import PostKind
from porism.formula import parse
from porism.formula.mathml.presentation import highlight
from porism.records import Binding
from porism.search.reading.reader import QueryReading
from porism.text.page import Inline, flow


@dataclass(frozen=True, slots=True)
class HighlightedSegment:
    """A segment of a title or body as it is shown: text, or a formula with LaTeX and MathML.

    `highlighted` says that the segment matches the query, `highlighted_nodes` which elements of the MathML do."""

    kind: Literal["text", "formula"]
    text: str
    mathml: str = ""
    formula_id: int | None = None
    highlighted: bool = False
    highlighted_nodes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A post of the ranking, with what a reader needs to decide whether to open it.

    `votes` is None where the collection has no votes. `formulas_contained` counts the formulas of the query that the
    post contains as a whole, perhaps with other variable names. In a search that groups by thread, `more` has up to
    three further answers of the thread, and `more_count` says how many there are."""

    id: int
    score: float
    kind: PostKind
    thread_id: int
    title: tuple[HighlightedSegment, ...]
    snippet: tuple[HighlightedSegment, ...]
    tags: tuple[str, ...] = ()
    votes: int | None = None
    accepted: bool = False
    created: str = ""
    formulas_contained: int = 0
    more: tuple[SearchHit, ...] = ()
    more_count: int = 0


@dataclass(frozen=True, slots=True)
class AlsoSearched:
    """Something that the engine added to a query: the usual name of a formula, or the usual formula of a name."""

    kind: Literal["text", "formula"]
    text: str


@dataclass(frozen=True, slots=True)
class Results:
    """A page of hits. `reading` and `notes` say how the query was read; `suggestions` what to try without hits.

    `total` counts hits; in a search that groups by thread it counts threads, and `posts` counts their hits.
    `also_searched` is what the engine added to the query, `query_formulas` the number of its formulas."""

    hits: tuple[SearchHit, ...]
    total: int
    seconds: float
    notes: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    posts: int = 0
    also_searched: tuple[AlsoSearched, ...] = ()
    query_formulas: int = 0
    reading: QueryReading = field(default_factory=QueryReading)

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        shown = (
            f"<b>{segments_html(hit.title)}</b> <small>{hit.kind} {hit.id}</small><br>{segments_html(hit.snippet)}"
            for hit in self.hits
        )
        return _list(shown, f"{self.total} found in {self.seconds * 1000:.0f} ms")


@dataclass(frozen=True, slots=True)
class FormulaUse:
    """A post that contains a formula."""

    post_id: int
    thread_id: int
    formula_id: int
    title: tuple[HighlightedSegment, ...]


@dataclass(frozen=True, slots=True)
class DistinctFormula:
    """A distinct formula of the ranking: at which level the query occurs in it (empty if it is only similar), what
    variables and wildcards of the query are in it, and which posts use it."""

    visual_id: int
    score: float
    latex: str
    mathml: str
    level: str = ""
    highlighted_nodes: tuple[int, ...] = ()
    bindings: tuple[Binding, ...] = ()
    uses: tuple[FormulaUse, ...] = ()
    use_count: int = 0


@dataclass(frozen=True, slots=True)
class FormulaResults:
    """A page of distinct formulas."""

    hits: tuple[DistinctFormula, ...]
    total: int
    seconds: float
    notes: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        shown = (
            highlight(hit.mathml, hit.highlighted_nodes)
            + "".join(f" <small>{html.escape(one.name)} to {html.escape(one.value)}</small>" for one in hit.bindings)
            for hit in self.hits
        )
        return _list(shown, f"{self.total} distinct formulas in {self.seconds * 1000:.0f} ms")


@dataclass(frozen=True, slots=True)
class QuotedPost:
    """The post from which a passage is quoted. `passage` is what a generated answer was written from."""

    post_id: int
    thread_id: int
    title: tuple[HighlightedSegment, ...]
    passage: tuple[HighlightedSegment, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """A sentence of a generated answer, the numbers of the sources it cites, from 1, and numbers that no source has."""

    segments: tuple[HighlightedSegment, ...]
    cited: tuple[int, ...] = ()
    unknown: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Extract:
    """The best passage for a question, at most 1,200 characters: `text` has LaTeX between dollar signs.

    A `generated` answer was written by a language model from its `sources`; its `sentences` have citations."""

    text: str
    segments: tuple[HighlightedSegment, ...]
    sources: tuple[QuotedPost, ...]
    seconds: float
    generated: bool = False
    notes: tuple[str, ...] = ()
    sentences: tuple[AnswerSentence, ...] = ()

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        sources = (f"{segments_html(source.title)} <small>post {source.post_id}</small>" for source in self.sources)
        return f'<blockquote class="porism">{segments_html(self.segments)}</blockquote>' + _list(sources, "from")


def segments_html(
    pieces: Iterable[HighlightedSegment], formula: Callable[[str, str], str] = lambda latex, mathml: mathml
) -> str:
    """Return segments as safe HTML: matching words are marked, matching parts of formulas are highlighted.

    `formula(latex, mathml)` may wrap each formula."""

    def shown(piece: HighlightedSegment) -> Inline:
        if piece.kind == "text":
            text = html.escape(piece.text)
            return f"<mark>{text}</mark>" if piece.highlighted else text, False
        mathml, nodes = piece.mathml or parse(piece.text).mathml, piece.highlighted_nodes
        return formula(piece.text, highlight(mathml, nodes) if nodes else mathml), True

    return flow(map(shown, pieces))


STYLE = (
    "<style>.porism .highlight, .porism mark { background: #ffe79a; color: #3b2c00; }"
    ".porism .frame { outline: 1px solid #e0b93c; }</style>"
)


def _list(items: Iterable[str], caption: str) -> str:
    rows = "".join(f"<li>{item}</li>" for item in items)
    return f'{STYLE}<div class="porism"><p><small>{html.escape(caption)}</small></p><ol>{rows}</ol></div>'
