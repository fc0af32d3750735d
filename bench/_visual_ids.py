"""Visual ids of the slice: our groups beside the official ids, by every usual measure, and where the difference comes from."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from bench._lab_key import lab_key
from porism.corpus.build.visual import visual_text
from porism.formula import parse, parse_mathml


class Formula(Protocol):
    """What is compared: LaTeX, the official visual id, and LaTeXML's Presentation MathML."""

    @property
    def latex(self) -> str: ...
    @property
    def visual(self) -> str: ...
    @property
    def slt(self) -> str: ...


class Agreement(NamedTuple):
    """Shares of formulas, but `pairs`.

    `mutual`: the formula's group and its official id are each other's main partner; `purity`: its official id is the commonest one of its
    group; `inverse`: its group is the commonest one of its official id; `pairs`: F1 over pairs of formulas put together.
    """

    mutual: float
    purity: float
    inverse: float
    pairs: float


def agreement(keys: Sequence[Hashable], ids: Sequence[str]) -> Agreement:
    """How far two groupings of the same formulas agree."""
    both, ours, theirs = Counter(zip(keys, ids, strict=True)), Counter(keys), Counter(ids)
    of_key, of_id = _main(both), _main({(visual, key): count for (key, visual), count in both.items()})
    mutual = sum(n for (key, visual), n in both.items() if of_key[key] == visual and of_id[visual] == key)
    purity = sum(n for (key, visual), n in both.items() if of_key[key] == visual)
    inverse = sum(n for (key, visual), n in both.items() if of_id[visual] == key)
    pairs = 2 * _pairs(both) / (_pairs(ours) + _pairs(theirs))
    return Agreement(mutual / len(ids), purity / len(ids), inverse / len(ids), pairs)


def _main(both: Mapping[Any, int]) -> dict[Hashable, Hashable]:
    """The commonest partner of each first; a tie goes to the one seen first."""
    best: dict[Hashable, tuple[int, Hashable]] = {}
    for (one, other), count in both.items():
        if count > best.get(one, (0, ""))[0]:
            best[one] = (count, other)
    return {one: other for one, (_, other) in best.items()}


def _pairs(counts: Mapping[Any, int]) -> int:
    return sum(n * (n - 1) // 2 for n in counts.values())


_WRAPPER = re.compile(r"</?(?:math|semantics|mrow|mstyle)\b[^>]*>|<mo[^>]*>[\u2061-\u2064]</mo>")
_ATTRIBUTES = re.compile(r"<(\w+)\s[^>]*?(/?)>")


def drawn(slt: str) -> str:
    """Official MathML without what the lab's own key leaves out: attributes, rows, invisible operators."""
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
    fair = _true(rows, ids)
    sound = [at for at in fair if "<merror" not in rows[at].slt]
    for name, kept in (("ids that contradict each other apart", fair), ("and LaTeXML's errors apart", sound)):
        for origin, keys in (("LaTeX", latex), ("official MathML", official)):
            _line(f"{name}, from {origin}", [keys[at] for at in kept], [ids[at] for at in kept])
    _merges(rows, latex)
    _splits(rows, latex)


def _true(rows: list[Formula], ids: list[str]) -> list[int]:
    """Formulas whose official id is the commonest one of those with the same official MathML (else the same LaTeX)."""
    keys = [drawn(row.slt) or row.latex for row in rows]
    main = _main(Counter(zip(keys, ids, strict=True)))
    return [at for at, key in enumerate(keys) if main[key] == ids[at]]


def _line(name: str, keys: Sequence[Hashable], ids: Sequence[str]) -> None:
    print(f"{name:60}{len(ids):9,}" + "".join(f"{value:9.2%}" for value in agreement(keys, ids)))


def _bound(name: str, keys: Sequence[Hashable], ids: Sequence[str]) -> None:
    """Formulas with one input and several ids: whatever the function, only the commonest can agree."""
    best = agreement(keys, ids).purity
    print(f"{name:60}{len(ids):9,}{best:9.2%}{best:9.2%}")


def _merges(rows: list[Formula], keys: list[tuple[str, str]]) -> None:
    """Formulas that share our group with a commoner official id, by cause."""
    main = _main(Counter((key, row.visual) for key, row in zip(keys, rows, strict=True)))
    partners: defaultdict[Hashable, list[Formula]] = defaultdict(list)
    for key, row in zip(keys, rows, strict=True):
        if main[key] == row.visual:
            partners[key].append(row)
    causes: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for key, row in zip(keys, rows, strict=True):
        if main[key] != row.visual:
            causes[_cause(row, partners[key])].append((partners[key][0].latex[:40], row.latex[:40]))
    _print_causes("together here, apart in the lab", causes)


_MARKS = (r"\|", r"\Vert", r"\lVert", "||", r"\ast", "*", r"\mathrm{d}")


def _cause(row: Formula, partners: list[Formula]) -> str:
    if any(other.latex == row.latex for other in partners):
        return "the same LaTeX has several official ids"
    if "<merror" in row.slt or all("<merror" in other.slt for other in partners):
        return "LaTeXML did not know a command of one"
    if any(drawn(other.slt) == drawn(row.slt) for other in partners):
        return "the same official MathML has several official ids"
    if not row.latex.isascii() or not any(other.latex.isascii() for other in partners):
        return "a sign typed as a character and as a command"
    if any((mark in row.latex) != (mark in partners[0].latex) for mark in _MARKS):
        return "spellings of norms, stars and differentials"
    return "spaces, fonts and other spellings"


def _splits(rows: list[Formula], keys: list[tuple[str, str]]) -> None:
    """Formulas that share an official id with a commoner group of ours, by cause."""
    main = _main(Counter((row.visual, key) for key, row in zip(keys, rows, strict=True)))
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
                if drawn(row.slt) != drawn(other.slt)
                else "the same official MathML"
            )
            causes[cause].append((other.latex[:40], row.latex[:40]))
    _print_causes("apart here, together in the lab", causes)


def _print_causes(name: str, causes: dict[str, list[tuple[str, str]]]) -> None:
    print(f"{name}: {sum(map(len, causes.values())):,} formulas")
    for cause, pairs in sorted(causes.items(), key=lambda item: (-len(item[1]), item[0])):
        examples = "; ".join(f"{one} / {other}" for one, other in list(dict.fromkeys(pairs))[:4])
        print(f"  {len(pairs):6,}  {cause}: {examples}")
