"""Readers of formulas: LaTeX, MathML, typed mathematics, patterns against formulas, stored trees."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from xml.etree.ElementTree import ParseError, fromstring

from attack.fuzz.openers import Frame
from attack.fuzz.reader import Reader, Wrong, active_content, to_text
from attack.fuzz.readers.formula_grammars import LATEX, MATHML, MATHML_NAMES, latex_tokens
from attack.fuzz.readers.typed_grammars import MATCH, TYPED, TYPED_TOKENS
from porism.analysis.features import features
from porism.errors import PorismError
from porism.formula import Parsed, parse, parse_mathml, tangent
from porism.formula.binary import pack, unpack, unpack_layout, unpack_operators
from porism.formula.canonical.forms import LEVELS, canonical
from porism.formula.layout.tuples import mathtuples
from porism.formula.match.matcher import find
from porism.formula.mathml.content_writer import to_content
from porism.formula.plaintext import formula_json, readable, tree_text
from porism.search.display.page_math import page_math
from porism.text.typed.box import split_query, typed_formula

MOST_WRITTEN = 3000  # characters of an input for which all forms are written, which takes longer than reading it


def _describe(parsed: Parsed) -> Hashable:
    """Use a formula as the index and the pages do, check it, and return what kind of formula it is."""
    operators = parsed.operators
    packed = pack(parsed)
    trees = unpack(packed)
    if trees.layout != parsed.layout or trees.operators != operators:
        raise Wrong("the stored trees differ")
    mathml = parsed.mathml
    if active_content(mathml, styles=True):  # converters write them; pages leave them out
        raise Wrong("the MathML runs a script")
    try:
        fromstring(mathml)
    except ParseError as error:
        raise Wrong(f"the MathML is not well-formed: {error}") from None
    canonical(operators, "renamed")
    labels = tuple(sorted({node.label[:9] for node in operators.walk() if "!" in node.label[:3]}))[:12]
    return parsed.path, parsed.repairs, len(parsed.problems), labels, len(packed).bit_length()


def _written(parsed: Parsed) -> None:
    """Write a formula in all forms."""
    formula_json(parsed)
    tangent(parsed.layout)
    mathtuples(parsed.layout)
    features(parsed.layout, parsed.operators)
    readable(parsed.layout)
    tree_text(parsed.operators)
    to_content(parsed.operators)
    page_math(parsed.mathml)
    for level in LEVELS:
        canonical(parsed.operators, level)


def read_latex(data: bytes) -> Hashable:
    """Parse LaTeX, every fourth time with wildcards."""
    text = to_text(data)
    parsed = parse(text, wildcards=len(text) % 4 == 0)
    if len(text) % 8 == 1 and len(text) < MOST_WRITTEN:
        _written(parsed)
    return _describe(parsed)


def read_mathml(data: bytes) -> Hashable:
    """Parse MathML as presentation, every third time also as content."""
    text = to_text(data)
    parsed = parse_mathml(text, "", text if len(text) % 3 == 0 else "")
    if len(text) % 8 == 1 and len(text) < MOST_WRITTEN:
        _written(parsed)
    return _describe(parsed)


def read_typed(data: bytes) -> Hashable:
    """Read typed mathematics: as a query with words, and as one formula."""
    text = to_text(data)
    parts = list(split_query(text))
    typed_formula(text)
    return tuple((part.kind, part.typed, part.mathml, len(part.others), part.latex[:3]) for part in parts[:6]), len(
        parts
    )


def read_match(data: bytes) -> Hashable:
    """Match a pattern (before the first line end or NUL) in a formula (after it), at every level."""
    text = to_text(data).replace("\x00", "\n")
    pattern, _, target = text.partition("\n")
    first, second = parse(pattern, wildcards=True).operators, parse(target).operators
    found = find(first, second, "renamed", whole=len(text) % 5 == 0)
    if found.match is None:
        return None, found.exhausted, len(pattern).bit_length(), len(target).bit_length()
    return found.match.level, found.match.whole, len(found.match.bindings), len(found.match.pairs).bit_length()


def read_trees(data: bytes) -> Hashable:
    """Unpack stored trees, and use them."""
    refused = 0
    for read in (unpack_layout, unpack_operators):
        try:
            read(data)
        except PorismError:
            refused += 1
    trees = unpack(data)
    tree_text(trees.operators)
    tangent(trees.layout)
    return refused, trees.layout.size().bit_length(), trees.operators.size().bit_length()


def _packed() -> Sequence[bytes]:
    """Return the stored trees of a few formulas."""
    return [
        pack(parse(latex))
        for latex in ("x", "a^2+b^2=c^2", r"\sum_{k=0}^n \binom nk x^k", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}")
    ]


READERS = (
    Reader(
        "latex", 70, read_latex, LATEX, latex_tokens(), longest=20_500, frames=(Frame(),), pumped=4_000, pump_share=8
    ),  # longer ones are converted elsewhere
    Reader(
        "mathml",
        100,
        read_mathml,
        MATHML,
        [f"<{name}>" for name in MATHML_NAMES] + [f"</{name}>" for name in MATHML_NAMES],
        longest=50_000,
        frames=(
            Frame(),
            Frame("<math>", "</math>"),
            Frame("<math><mi ", "/></math>"),
            Frame("<math><mi style='", "'/></math>"),
        ),
    ),
    Reader(
        "typed", 25, read_typed, TYPED, TYPED_TOKENS, longest=20_000, frames=(Frame(),), pumped=20_000, pump_share=15
    ),
    Reader("match", 30, read_match, MATCH, [*latex_tokens()[:140], "\n", "?x", "?y", "x", "x "], longest=4_000),
    Reader("trees", 220, read_trees, binary=True, longest=5_000, seeds=_packed),
)
