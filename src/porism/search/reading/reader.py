"""How a typed query is understood: operators of the box, formulas, spelling, other words for the same idea.

Phrases that say nothing are left out, other words for the same idea are added, and misspelt words are corrected with
words of the index that are frequent or that occur beside the same words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from itertools import pairwise
from typing import Literal, NamedTuple

from porism.analysis.learned import NearWord, Vocabulary
from porism.caching import cached_method
from porism.deadline import check
from porism.search.formulas.query import FAMILY, choose_readings, part_terms, readings_of
from porism.search.index import Frequencies, Index
from porism.search.query import QUERIES_KEPT, ReadQuery, parse_part, read_query
from porism.store.records import Term
from porism.text.find import decode_accents
from porism.text.typed.box import FIRST_YEAR, LAST_YEAR, Box, read_box, split_query
from porism.text.words import FORMULA, WORD, stem, stopwords

MAX_ADDED = 6  # words and phrases that are added to a query

# Punctuation at the edges of a query. A question mark before a letter is a wildcard, an exclamation mark behind a
# symbol a factorial. The end starts where no such mark precedes: a long run is read once.
_EDGES = re.compile(r"\A(?:[ ,;:!]|\?(?![A-Za-z]))+|(?<![ ,;:?])(?:[ ,;:?]|(?<=[^\W\d_]{2})!+|(?<=[\s?])!+)+\Z")


def _rows(name: str) -> list[str]:
    lines = files(__package__).joinpath(name).read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@cache
def _stop_phrases() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(_rows('phrases.tsv'))})(?!\w)[?,.!]*", re.IGNORECASE)


def without_stop_phrases(text: str) -> str:
    """Return a text without phrases that say nothing about its subject; the text itself if nothing else is left.

    >>> without_stop_phrases("please help, how do I integrate by parts")
    'integrate by parts'
    """
    left = _EDGES.sub("", " ".join(_stop_phrases().sub(" ", text).split()))
    return left if WORD.search(left) else text


@cache
def _synonyms() -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the other words of an idea by the stems of each of its words."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for row in _rows("synonyms.tsv"):
        group = row.replace(" →", "").split("\t")
        for form in group[:1] if "→" in row else group:
            key = _stems(form)
            others = tuple(other for other in group if _stems(other) != key)
            found[key] = (*found.get(key, ()), *others)
    return found


def _stems(text: str) -> tuple[str, ...]:
    return tuple(stem(word) for word in WORD.findall(text))


def synonyms_in(text: str) -> tuple[str, ...]:
    """Return other words for the ideas that a text names.

    >>> synonyms_in("eigen value of an abelian group")
    ('eigenvalue', 'commutative')
    """
    words = _stems(text)
    longest = max(map(len, _synonyms()))
    added: dict[str, None] = {}
    at = 0
    while at < len(words):
        size = next((n for n in range(longest, 0, -1) if words[at : at + n] in _synonyms() and at + n <= len(words)), 0)
        added |= dict.fromkeys(_synonyms()[words[at : at + size]] if size else ())
        at += max(1, size)
    new = (" ".join(word for word in WORD.findall(one) if stem(word) not in words) for one in added)
    return tuple(dict.fromkeys(one for one in new if one))[:MAX_ADDED]


_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_PREFIXES = ("non", "sub", "semi", "pseudo", "quasi", "hyper", "super", "anti", "multi", "pre", "un", "re", "co")
_ENDINGS = (
    ("s", ""), ("es", ""), ("ies", "y"), ("ed", ""), ("d", ""), ("ing", ""), ("ing", "e"), ("ly", ""), ("", "s"),
    ("ness", ""),
)  # fmt: skip
SHORTEST = 4  # letters of a word that is corrected
TWO_ERRORS = 7  # letters from which on two errors are corrected
RARE = 3  # a word that occurs at most so often is no evidence for its spelling
MAX_USES_TO_CORRECT = 20  # a word used more often is taken as correct
MORE_FREQUENT, MUCH_MORE_FREQUENT = 20, 60  # than the word that is replaced, with the same neighbours and without
LONG_WORD = 7  # letters of a word that may be written as two
DISTANCE_COST, FIRST_LETTER_COST, PAIR_GAIN = 4.0, 1.5, 2.0


class Correction(NamedTuple):
    """A word of the query, its position, and the word that replaces it."""

    start: int
    end: int
    word: str
    better: str


class Checked(NamedTuple):
    """The corrections of a text, and its words that no post contains and that no word resembles."""

    corrections: tuple[Correction, ...]
    unknown: tuple[str, ...]

    def apply(self, text: str) -> str:
        """Return the text with its corrections."""
        for one in reversed(self.corrections):
            text = text[: one.start] + one.better + text[one.end :]
        return text


class Speller:
    """Checks the words of a query against an index."""

    def __init__(self, vocabulary: Vocabulary, frequencies: Frequencies) -> None:
        self._vocabulary = vocabulary
        self._frequencies = frequencies
        self._near: dict[str, list[NearWord]] = {}

    def terms(self, text: str) -> Iterator[Term]:
        """Yield the terms that a check looks up, as long as it corrects nothing."""
        words = [match[0].lower() for match in _WORD.finditer(text)]
        for at, word in enumerate(words):
            if self._is_checked(word):
                yield from (Term("words", form) for form in _forms(word))
                near = self._candidates(word)
                for other in ([word] if near else []) + [one.word for one in near]:
                    yield from (Term("pairs", pair) for pair in _neighbours(words, at, other))
        yield from (Term("pairs", f"{stem(a)}_{stem(b)}") for a, b in self._halves(words))

    def check(self, text: str) -> Checked:
        """Return corrections of a text, and the words that the index does not know."""
        found = list(_WORD.finditer(text))
        words = [match[0].lower() for match in found]
        corrections: list[Correction] = []
        unknown: list[str] = []
        for at, match in enumerate(found):
            word = words[at]
            check()
            if not self._is_checked(word):
                continue
            better = self._better(words, at)
            if better:
                words[at] = better
                corrections.append(Correction(match.start(), match.end(), match[0], better))
            elif not any(self._frequencies.documents("words", _forms(word))):  # no post has it in any form
                unknown.append(match[0])
        if unknown:
            # Beside an unknown word a short one is of another language rather than misspelt.
            unknown += [one.word for one in corrections if len(one.word) < TWO_ERRORS - 1]
            corrections = [one for one in corrections if one.word not in unknown]
        return Checked(tuple(corrections), tuple(unknown))

    def _is_checked(self, word: str) -> bool:
        is_listed = word in stopwords() or (stem(word),) in _synonyms()  # so that it is spelt right
        return bool(self._vocabulary.counts) and not is_listed

    def joined_or_split(self, text: str) -> tuple[str, ...]:
        """Return words in their other spelling, as one or two, where posts use it: `eigen value`, `nullspace`."""
        words = [match[0].lower() for match in _WORD.finditer(text)]
        counts = self._vocabulary.counts
        joined = [a + b for a, b in pairwise(words) if min(len(a), len(b)) > 2 and counts.get(a + b, 0) > RARE]
        halves = self._halves(words)
        documents = self._frequencies.documents("pairs", [f"{stem(a)}_{stem(b)}" for a, b in halves])
        split = [f"{a} {b}" for (a, b), number in zip(halves, documents, strict=True) if number > 0]
        return (*joined, *split)

    def _halves(self, words: Sequence[str]) -> list[tuple[str, str]]:
        """Return the ways to write words as two that posts use."""
        counts = self._vocabulary.counts
        return [
            (word[:at], word[at:])
            for word in words
            if len(word) >= LONG_WORD
            for at in range(3, len(word) - 2)
            if min(counts.get(word[:at], 0), counts.get(word[at:], 0)) > RARE
        ]

    def _better(self, words: list[str], at: int) -> str:
        """Return the word that a misspelt one was meant to be; empty if it is right, or if nothing resembles it."""
        word = words[at]
        near = self._candidates(word)
        if not near:
            return ""
        count = self._vocabulary.counts.get(word, 0)
        pairs = {one.word: self._pairs(words, at, one.word) for one in near}

        def merit(one: NearWord) -> tuple[float, str]:
            other_letter = FIRST_LETTER_COST if one.word[0] != word[0] else 0.0
            cost = DISTANCE_COST * one.distance
            return math.log(one.uses) - cost - other_letter + PAIR_GAIN * math.log1p(pairs[one.word]), one.word

        best = max(near, key=merit)
        if count and best.uses < MUCH_MORE_FREQUENT * count and not pairs[best.word] > self._pairs(words, at, word):
            return ""
        # `hall` is a word that no post contains, not a misspelt `all`.
        return "" if best.word in stopwords() and best.word[0] != word[0] else best.word

    def _candidates(self, word: str) -> list[NearWord]:
        """Return the words that a word may have been meant to be; none if it is right. Each word is looked up once."""
        if word not in self._near:
            self._near[word] = self._look_up(word)
        return self._near[word]

    def _look_up(self, word: str) -> list[NearWord]:
        count = self._vocabulary.counts.get(word, 0)
        if len(word) < SHORTEST or "'" in word or count > MAX_USES_TO_CORRECT:
            return []
        if not count and self._is_inflected(word):
            return []
        near = self._vocabulary.near(word, 2 if len(word) >= TWO_ERRORS else 1)
        if any(stem(one.word) == stem(word) for one in near if one.uses > RARE and one.word != word):
            return []  # another form of a known word, which the index does not distinguish
        near = [one for one in near if one.uses > max(1, count) and len(one.word) >= SHORTEST - 1]
        return [one for one in near if one.distance == 1 and one.uses >= MORE_FREQUENT * count] if count else near

    def _is_inflected(self, word: str) -> bool:
        """Return whether an unknown word is another form of one that occurs often, as plurals are."""
        counts = self._vocabulary.counts
        if any(word.startswith(prefix) and counts.get(word.removeprefix(prefix), 0) > RARE for prefix in _PREFIXES):
            return True
        return any(
            word.endswith(ending) and counts.get(word.removesuffix(ending) + base, 0) > RARE
            for ending, base in _ENDINGS
        )

    def _pairs(self, words: list[str], at: int, word: str) -> int:
        """Return how many threads have the word beside its neighbours in the query."""
        return sum(self._frequencies.documents("pairs", _neighbours(words, at, word)))


def _forms(word: str) -> list[str]:
    """Return the stems by which posts may have a word."""
    return [stem(part) for part in (word, word.replace("'", ""), *word.split("'"))]


def _neighbours(words: Sequence[str], at: int, word: str) -> list[str]:
    """Return the pairs of a word, in the place of another, and the words beside it."""
    content = [(number, one) for number, one in enumerate(words) if one not in stopwords()]
    place = next((number for number, (own, _) in enumerate(content) if own == at), -1)
    if place < 0:
        return []
    left = [f"{stem(content[place - 1][1])}_{stem(word)}"] if place > 0 else []
    right = [f"{stem(word)}_{stem(content[place + 1][1])}"] if place + 1 < len(content) else []
    return [*left, *right]


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
        read, text = read_query(content, typed=not as_words), content
        unknown: list[str] = []
        added: tuple[str, ...] = ()
        frequencies = Frequencies(self._index.snapshot)
        speller = Speller(self._index.snapshot.learned.vocabulary, frequencies)
        readings = [Term(FAMILY, term) for one in readings_of(read) for term in part_terms(one)]
        if short:
            parts = list(split_query(content, typed=not as_words))
            terms = (term for one in parts if one.kind == "text" for term in speller.terms(one.source))
            frequencies.ask((*readings, *terms))
            texts: list[str] = []
            for part in parts:  # the spelling of words is checked; formulas and phrases stay
                if part.kind == "formula":
                    texts.append(part.source if part.typed or part.mathml else f"${part.source}$")
                    continue
                checked = speller.check(part.source)
                texts.append(checked.apply(part.source))
                unknown += checked.unknown
            text = "".join(texts) or content
            if text != content:
                read = read_query(text, typed=not as_words)
        read = choose_readings(read, partial(frequencies.documents, FAMILY))
        if short:
            words = read.title.replace(FORMULA, " ")
            added = tuple(dict.fromkeys((*synonyms_in(words), *speller.joined_or_split(words))))
        if added:
            read = replace(read, body=f" {FORMULA} ".join(added))
        corrected = text if text != content else ""
        shown = _parts(text, as_words, read)
        reading = QueryReading(shown, corrected, tuple(unknown), added, tuple(_operators(box)))
        notes = (*read.notes, *_notes(typed, reading))
        return TypedQuery(replace(read, notes=notes), box, replace(reading, notes=notes))


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
    if box.first_year != FIRST_YEAR:
        yield f"after:{box.first_year}"
    if box.last_year != LAST_YEAR:
        yield f"before:{box.last_year}"


def _notes(typed: str, reading: QueryReading) -> Iterator[str]:
    if reading.corrected:
        yield f"showing results for “{reading.corrected}” instead of “{typed}”"
    if reading.unknown_words:
        words = ", ".join(f"“{word}”" for word in reading.unknown_words)
        texts = [part.source for part in reading.parts if part.kind == "text"]
        every = len(reading.unknown_words) == len(WORD.findall(" ".join(texts)))
        only = "; only the formulas are searched" if every and len(texts) < len(reading.parts) else ""
        yield f"no post contains {words}{only}"
