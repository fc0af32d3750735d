"""Visual ids of the slice: compare our groups with the official ids by the usual measures, and print causes of the
differences."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from bench._lab_key import lab_key
from porism.corpus.build.visual import visual_text
from porism.formula import parse, parse_mathml


class Formula(Protocol):
    """A formula to compare: LaTeX, the official visual id, and LaTeXML's Presentation MathML."""

    @property
    def latex(self) -> str: ...
    @property
    def visual(self) -> str: ...
    @property
    def slt(self) -> str: ...


class Agreement(NamedTuple):
    """Agreement of two groupings, as shares of formulas (`pairs`: of pairs).

    `mutual`: the formula's group and its official id are each other's main partner; `purity`: its official id is the
    most frequent one of its group; `inverse`: its group is the most frequent one of its official id; `pairs`: F1 over
    pairs of formulas in one group.
    """

    mutual: float
    purity: float
    inverse: float
    pairs: float


def agreement(keys: Sequence[Hashable], ids: Sequence[str]) -> Agreement:
    """Return how far two groupings of the same formulas agree."""
    both, ours, theirs = Counter(zip(keys, ids, strict=True)), Counter(keys), Counter(ids)
    of_key, of_id = _main_partner(both), _main_partner({(visual, key): count for (key, visual), count in both.items()})
    mutual = sum(n for (key, visual), n in both.items() if of_key[key] == visual and of_id[visual] == key)
    purity = sum(n for (key, visual), n in both.items() if of_key[key] == visual)
    inverse = sum(n for (key, visual), n in both.items() if of_id[visual] == key)
    pairs = 2 * _pairs(both) / (_pairs(ours) + _pairs(theirs))
    return Agreement(mutual / len(ids), purity / len(ids), inverse / len(ids), pairs)


def _main_partner(both: Mapping[Any, int]) -> dict[Hashable, Hashable]:
    """Return the most frequent partner of each first element; the first one wins a tie."""
    best: dict[Hashable, tuple[int, Hashable]] = {}
    for (first, second), count in both.items():
        if count > best.get(first, (0, ""))[0]:
            best[first] = (count, second)
    return {first: second for first, (_, second) in best.items()}


def _pairs(counts: Mapping[Any, int]) -> int:
    return sum(n * (n - 1) // 2 for n in counts.values())


_WRAPPER = re.compile(r"</?(?:math|semantics|mrow|mstyle)\b[^>]*>|<mo[^>]*>[\u2061-\u2064]</mo>")
_ATTRIBUTES = re.compile(r"<(\w+)\s[^>]*?(/?)>")


def visible_mathml(slt: str) -> str:
    """Return official MathML without attributes, rows and invisible operators, which the lab's own key leaves out
    too."""
    return _ATTRIBUTES.sub(r"<\1\2>", _WRAPPER.sub("", slt))


def visual_ids(formulas: Iterable[Formula]) -> None:
    """Print the tables."""
    rows = [row for row in formulas if row.visual]
    from_latex = {row.latex: visual_text(parse(row.latex)) for row in rows}
    from_mathml = {(row.latex, row.slt): visual_text(parse_mathml(row.slt, row.latex)) for row in rows if row.slt}
    latex = [from_latex[row.latex] for row in rows]
    official = [from_mathml.get((row.latex, row.slt), from_latex[row.latex]) for row in rows]
    ids = [row.visual for row in rows]
    text = [row.slt or row.latex for row in rows]
    strict = {row.slt: lab_key(row.slt) for row in rows}
    print(f"{'':60}{'formulas':>9}{'mutual':>9}{'purity':>9}{'inverse':>9}{'pairs F1':>9}")
    _line("our key, trees from LaTeX", latex, ids)
    _line("our key, trees from the official MathML", official, ids)
    _line(
        "the lab's own key of the official MathML", [strict[row.slt] or "".join(row.latex.split()) for row in rows], ids
    )
    _bound("the best that any function of the LaTeX can do", [row.latex for row in rows], ids)
    _bound("the best that any function of the official MathML can do", text, ids)
    consistent = _consistent(rows, ids)
    without_errors = [at for at in consistent if "<merror" not in rows[at].slt]
    for name, kept in (("without contradictory ids", consistent), ("and without LaTeXML's errors", without_errors)):
        for origin, keys in (("LaTeX", latex), ("official MathML", official)):
            _line(f"{name}, from {origin}", [keys[at] for at in kept], [ids[at] for at in kept])
    _merges(rows, latex)
    _splits(rows, latex)


def _consistent(rows: list[Formula], ids: list[str]) -> list[int]:
    """Return the positions of formulas whose official id is the most frequent one of those with the same official
    MathML (or LaTeX)."""
    keys = [visible_mathml(row.slt) or row.latex for row in rows]
    main = _main_partner(Counter(zip(keys, ids, strict=True)))
    return [at for at, key in enumerate(keys) if main[key] == ids[at]]


def _line(name: str, keys: Sequence[Hashable], ids: Sequence[str]) -> None:
    print(f"{name:60}{len(ids):9,}" + "".join(f"{value:9.2%}" for value in agreement(keys, ids)))


def _bound(name: str, keys: Sequence[Hashable], ids: Sequence[str]) -> None:
    """Print an upper bound: if equal inputs have several ids, a function of the input can agree with the most frequent
    one only."""
    best = agreement(keys, ids).purity
    print(f"{name:60}{len(ids):9,}{best:9.2%}{best:9.2%}")


def _merges(rows: list[Formula], keys: list[tuple[str, str]]) -> None:
    """Print formulas that share our group with a more frequent official id, by cause."""
    main = _main_partner(Counter((key, row.visual) for key, row in zip(keys, rows, strict=True)))
    partners: defaultdict[Hashable, list[Formula]] = defaultdict(list)
    for key, row in zip(keys, rows, strict=True):
        if main[key] == row.visual:
            partners[key].append(row)
    causes: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for key, row in zip(keys, rows, strict=True):
        if main[key] != row.visual:
            causes[_cause(row, partners[key])].append((partners[key][0].latex[:40], row.latex[:40]))
    _print_causes("one group here, several ids in the lab", causes)


_MARKS = (r"\|", r"\Vert", r"\lVert", "||", r"\ast", "*", r"\mathrm{d}")


def _cause(row: Formula, partners: list[Formula]) -> str:
    if any(other.latex == row.latex for other in partners):
        return "the same LaTeX has several official ids"
    if "<merror" in row.slt or all("<merror" in other.slt for other in partners):
        return "LaTeXML did not know a command of one"
    if any(visible_mathml(other.slt) == visible_mathml(row.slt) for other in partners):
        return "the same official MathML has several official ids"
    if not row.latex.isascii() or not any(other.latex.isascii() for other in partners):
        return "a sign typed as a character and as a command"
    if any((mark in row.latex) != (mark in partners[0].latex) for mark in _MARKS):
        return "spellings of norms, stars and differentials"
    return "spaces, fonts and other spellings"


def _splits(rows: list[Formula], keys: list[tuple[str, str]]) -> None:
    """Print formulas that share an official id with a more frequent group of ours, by cause."""
    main = _main_partner(Counter((row.visual, key) for key, row in zip(keys, rows, strict=True)))
    first: dict[tuple[Hashable, Hashable], Formula] = {}
    for key, row in zip(keys, rows, strict=True):
        first.setdefault((row.visual, key), row)
    causes: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for key, row in zip(keys, rows, strict=True):
        if main[row.visual] != key:
            other = first[row.visual, main[row.visual]]
            cause = (
                "LaTeXML did not know a command of one"
                if "<merror" in row.slt + other.slt
                else "the official MathML differs"
                if visible_mathml(row.slt) != visible_mathml(other.slt)
                else "the same official MathML"
            )
            causes[cause].append((other.latex[:40], row.latex[:40]))
    _print_causes("several groups here, one id in the lab", causes)


def _print_causes(name: str, causes: dict[str, list[tuple[str, str]]]) -> None:
    print(f"{name}: {sum(map(len, causes.values())):,} formulas")
    for cause, pairs in sorted(causes.items(), key=lambda item: (-len(item[1]), item[0])):
        examples = "; ".join(f"{one} / {other}" for one, other in list(dict.fromkeys(pairs))[:4])
        print(f"  {len(pairs):6,}  {cause}: {examples}")
