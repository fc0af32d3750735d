"""How a typed query is understood: operators of the box, formulas, spelling, other words for the same idea."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

from porism.caching import cached_method
from porism.search.formulas.query import FAMILY, choose_readings, part_terms, readings_of
from porism.search.index import Index
from porism.search.query import QUERIES_KEPT, ReadQuery, parse_part, read_query
from porism.search.reading.words import Frequencies, Speller, Wanted, synonyms_in, without_stop_phrases
from porism.text.find import decode_accents
from porism.text.typed.box import Box, QueryPart, read_box, split_query
from porism.text.words import FORMULA, WORD, stopwords

LONGEST_TYPED = 300  # characters; a longer text is a pasted post, whose wording and spelling stay as they are


@dataclass(frozen=True, slots=True)
class ReadPart:
    """A part of a query as it is searched: text, or a formula with LaTeX and MathML. `source` is what was typed."""

    kind: Literal["text", "formula"]
    source: str
    latex: str = ""
    mathml: str = ""
    typed: bool = False


@dataclass(frozen=True, slots=True)
class QueryReading:
    """How a query was read: its parts, the query with corrected spelling (empty if nothing was corrected), words that
    no post contains, words and phrases that were added because they are other names of the same idea, and operators
    such as `tag:calculus`. `notes` say the same in sentences."""

    parts: tuple[ReadPart, ...] = ()
    corrected: str = ""
    unknown_words: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def has_typed_formulas(self) -> bool:
        """Whether a formula was recognised without delimiters, so that the query could also be searched as words."""
        return any(part.typed for part in self.parts)


class TypedQuery(NamedTuple):
    """A typed query: what is searched, its operators, and the report of how it was read."""

    read: ReadQuery
    box: Box
    reading: QueryReading


class QueryReader:
    """Reads typed queries for an index."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self.read = cached_method(QUERIES_KEPT, self._read)

    def _read(self, typed: str, as_words: bool = False, verbatim: bool = False) -> TypedQuery:
        """Read a typed query. `as_words`: only delimiters make formulas; `verbatim`: spelling and wording stay."""
        box = read_box(decode_accents(typed))
        content = box.text
        short = len(content) <= LONGEST_TYPED and not verbatim
        if short:
            content = without_stop_phrases(content)
            if len(content) == 1 and content.lower() in stopwords():
                content = f"${content}$"  # `what is i`: as a word it says nothing
        read, checked = read_query(content, typed=not as_words), _Checked(content, ())
        frequencies = Frequencies(self._index.snapshot)
        speller = Speller(self._index.snapshot.learned.vocabulary, frequencies)
        readings = [Wanted(FAMILY, term) for one in readings_of(read) for term in part_terms(one)]
        if short:
            parts = list(split_query(content, typed=not as_words))
            terms = (term for one in parts if one.kind == "text" for term in speller.terms(one.source))
            frequencies.ask((*readings, *terms))
            checked = _checked(content, parts, speller)
            if checked.text != content:
                read = read_query(checked.text, typed=not as_words)
        read = choose_readings(read, partial(frequencies.documents, FAMILY))
        added = _added(read, speller) if short else ()
        if added:
            read = replace(read, body=f" {FORMULA} ".join(added))
        corrected = checked.text if checked.text != content else ""
        shown = _parts(checked.text, as_words, read)
        reading = QueryReading(shown, corrected, checked.unknown, added, tuple(_operators(box)))
        notes = (*read.notes, *_notes(typed, reading))
        return TypedQuery(replace(read, notes=notes), box, replace(reading, notes=notes))


class _Checked(NamedTuple):
    text: str
    unknown: tuple[str, ...]


def _checked(content: str, parts: Sequence[QueryPart], speller: Speller) -> _Checked:
    """Check the spelling of the words of a query; its formulas and phrases stay."""
    texts: list[str] = []
    unknown: list[str] = []
    for part in parts:
        if part.kind == "formula":
            texts.append(part.source if part.typed or part.mathml else f"${part.source}$")
            continue
        checked = speller.check(part.source)
        texts.append(checked.apply(part.source))
        unknown += checked.unknown
    return _Checked("".join(texts) if any(texts) else content, tuple(unknown))


def _added(read: ReadQuery, speller: Speller) -> tuple[str, ...]:
    text = read.title.replace(FORMULA, " ")
    return tuple(dict.fromkeys((*synonyms_in(text), *speller.joined_or_split(text))))


def _parts(text: str, as_words: bool, read: ReadQuery) -> tuple[ReadPart, ...]:
    """Return the parts of a query; each formula in the reading that was chosen."""
    chosen = {one.parsed.latex: one.parsed for one in read.formulas}
    found: list[ReadPart] = []
    for part in split_query(text, typed=not as_words):
        if part.kind == "text":
            found += [ReadPart("text", part.source)] if part.source.strip() else []
            continue
        latex = next((one for one in (part.latex, *part.others) if one in chosen), part.latex)
        parsed = chosen.get(latex) or parse_part(part)
        found.append(ReadPart("formula", part.source, latex or part.source, parsed.mathml, part.typed))
    return tuple(found)


def _operators(box: Box) -> Iterator[str]:
    yield from (f'"{phrase}"' for phrase in box.phrases)
    yield from (f"-{word}" for word in box.excluded)
    yield from (f"tag:{tag}" for tag in box.tags)
    yield from (f"user:{user}" for user in box.users)
    if box.accepted:
        yield "is:accepted"
    if box.first_year != Box("").first_year:
        yield f"after:{box.first_year}"
    if box.last_year != Box("").last_year:
        yield f"before:{box.last_year}"


def _notes(typed: str, reading: QueryReading) -> Iterator[str]:
    if reading.corrected:
        yield f"showing results for “{reading.corrected}” instead of “{typed}”"
    if reading.unknown_words:
        words = ", ".join(f"“{word}”" for word in reading.unknown_words)
        texts = [part.source for part in reading.parts if part.kind == "text"]
        every = len(reading.unknown_words) == len(WORD.findall(" ".join(texts)))
        yield f"no post contains {words}" + (
            "; only the formulas are searched" if every and len(texts) < len(reading.parts) else ""
        )
