"""What the engine answers: records that the page, the API, the command line and notebooks show alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from porism.records import PostKind


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of shown text. A formula has LaTeX and MathML; `lit` says that the piece itself matched (words), and
    `lit_nodes` which elements of the MathML did."""

    kind: Literal["text", "formula"]
    text: str
    mathml: str = ""
    formula_id: int | None = None
    lit: bool = False
    lit_nodes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A post that was found, and what a reader needs to decide whether to open it."""

    id: int
    score: float
    kind: PostKind
    thread_id: int
    title: tuple[Segment, ...]
    snippet: tuple[Segment, ...]
    tags: tuple[str, ...] = ()
    votes: int = 0
    accepted: bool = False
    created: str = ""


@dataclass(frozen=True, slots=True)
class Results:
    """A page of hits. `notes` say what was done with the query; `suggestions` what to relax when little was found."""

    hits: tuple[SearchHit, ...]
    total: int
    seconds: float
    notes: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        """For notebooks."""
        from porism.search.display.notebook import results_html

        return results_html(self)


@dataclass(frozen=True, slots=True)
class FormulaUse:
    """A post in which a formula stands."""

    post_id: int
    thread_id: int
    formula_id: int
    title: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class FoundFormula:
    """A distinct formula that was found: how it matched, what was renamed (query name, its name here), who uses it."""

    visual_id: int
    score: float
    latex: str
    mathml: str
    level: str = ""
    lit_nodes: tuple[int, ...] = ()
    bindings: tuple[tuple[str, str], ...] = ()
    uses: tuple[FormulaUse, ...] = ()
    use_count: int = 0


@dataclass(frozen=True, slots=True)
class FormulaResults:
    """A page of distinct formulas."""

    hits: tuple[FoundFormula, ...]
    total: int
    seconds: float
    notes: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        """For notebooks."""
        from porism.search.display.notebook import formulas_html

        return formulas_html(self)


@dataclass(frozen=True, slots=True)
class Source:
    """Where an extract was taken from."""

    post_id: int
    thread_id: int
    title: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Extract:
    """The best passage of at most 1,200 characters; `text` has LaTeX between dollar signs, `segments` the same for a page."""

    text: str
    segments: tuple[Segment, ...]
    sources: tuple[Source, ...]
    seconds: float
    generated: bool = False
    notes: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        """For notebooks."""
        from porism.search.display.notebook import extract_html

        return extract_html(self)
