"""Readers of formulas: LaTeX, MathML, typed mathematics, patterns against formulas, stored trees."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from importlib.resources import files
from xml.etree.ElementTree import ParseError, fromstring

from attack.fuzz.grammar import Grammar
from attack.fuzz.reader import Reader, Wrong, active_content, to_text
from porism.errors import PorismError
from porism.formula import Parsed, parse, parse_mathml, tangent
from porism.formula.binary import pack, unpack, unpack_layout, unpack_operators
from porism.formula.canonical.forms import LEVELS, canonical
from porism.formula.latex.repair import commands
from porism.formula.layout.tuples import mathtuples
from porism.formula.match.matcher import find
from porism.formula.mathml.content_writer import to_content
from porism.formula.plaintext import readable, tree_text
from porism.formula.report import formula_json
from porism.index.analysis.features import features
from porism.search.display.page_math import page_math
from porism.search.reading.parts import split_query, typed_formula

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


def _lines(package: str, name: str) -> list[str]:
    text = (files(package) / name).read_text("utf-8")
    return [line.split("\t")[0] for line in text.splitlines() if line and not line.startswith("#")]


def _latex_tokens() -> list[str]:
    """Return what the converter and the readers know: openers, our commands, symbols, structures."""
    structure = (
        r"\frac \dfrac \sqrt \root \binom \over \choose \atop \left \right \middle \big \Bigg( \overline \underbrace \overset "
        r"\underset \stackrel \text \mathrm \mathbb \mathbf \operatorname \operatorname* \color \textcolor \hspace \kern \mkern "
        r"\phantom \rlap \smash \raisebox \rule \tag \label \ref \cite \newcommand \def \let \DeclareMathOperator \require "
        r"\begin{matrix} \end{matrix} \begin{cases} \end{cases} \begin{array}{c|c} \end{array} \begin{align*} \end{align*} "
        r"\\ & ^ _ { } ^{ _{ $ $$ % # ~ ' '' ( ) [ ] | \| \{ \} \, \; \! \limits \nolimits \displaystyle \not \mathop "
        r"\sum \int \prod \lim \partial \nabla \infty \to \leq \ne \in \forall \mapsto \pmod \bmod \pod \hat \vec \dot "
        r"? ?x ?f( * / + - = < > , ; : ! . 1 2 x y n f( \sin \log \alpha \Gamma \mathcal{ \xrightarrow[ \cancel \boxed \middle|"
    )
    known = [name if name.startswith("\\") else "\\" + name for name in commands()]
    return [*structure.split(), *_lines("porism.formula.latex", "openers.tsv"), *known]


LATEX: Grammar = {
    "start": ("«row»", "«row»«row»", "«row»=«row»", "$«row»$", "«env»", "«odd_text»«row»"),
    "row": ("x", "«atom»", "«atom»«row»", "«atom»«op»«row»", "«atom»«script»", "«atom»«script»«row»", "«broken»«row»"),
    "atom": (
        "x",
        "«letter»",
        "«number»",
        "\\frac{«row»}{«row»}",
        "\\frac«letter»«letter»",
        "{«row»\\over«row»}",
        "{«row»\\choose«row»}",
        "\\sqrt[«row»]{«row»}",
        "\\sqrt{«row»}",
        "(«row»)",
        "[«row»)",
        "\\left(«row»\\right)",
        "\\left.«row»\\right|",
        "|«row»|",
        "\\{«row»\\}",
        "\\langle «row»\\rangle ",
        "{«row»}",
        "\\text{«words»}",
        "\\mathbb{«letter»}",
        "\\overline{«row»}",
        "\\«big»«limits» «row»",
        "\\«function» «atom»",
        "\\«function»(«row»)",
        "f(«row»,«row»)",
        "«env»",
        "?«letter»",
        "\\pmod{«row»}",
        "\\operatorname{«words»}(«row»)",
        "\\int«limits» «row»\\,d«letter»",
        "\\frac{d}{d«letter»}«row»",
        "\\newcommand{\\«letter»q}[«number»]{«row»#1}\\«letter»q{«row»}",
        "\\hspace{«number»em}",
        "\\color{«words»}{«row»}",
        "«odd_text»",
    ),
    "script": (
        "^2",
        "^«atom»",
        "_«atom»",
        "^{«row»}",
        "_{«row»}",
        "_{«row»}^{«row»}",
        "'",
        "''^«letter»",
        "^«letter»^«letter»",
    ),
    "limits": ("", "_{«row»}^{«row»}", "_«letter»", "\\limits_{«row»}"),
    "op": (
        "+",
        "-",
        "=",
        "\\cdot ",
        "<",
        "\\le ",
        "/",
        ",",
        ";",
        ":",
        "!",
        "\\to ",
        "\\mid ",
        "\\pm ",
        "&",
        "\\\\",
        "\\in ",
        "~",
    ),
    "letter": ("x", "y", "n", "k", "a", "f", "\\alpha ", "\\pi ", "é", "ß", "漢", "\U0001d465", "e", "i", "d"),
    "big": ("sum", "prod", "int", "lim", "bigcup", "max", "oint", "limsup"),
    "function": ("sin", "log", "exp", "gcd", "det", "Pr", "arcsin", "unknowncommand"),
    "words": ("if", "a b", "odd", "«letter»", "$«row»$", "rgb(1,2,3)", "red", ""),
    "env": (
        "\\begin{matrix}«cells»\\end{matrix}",
        "\\begin{«envname»}«cells»\\end{«envname»}",
        "\\begin{array}{c|«letter»}«cells»\\end{array}",
        "\\begin{«envname»}«cells»",
    ),
    "envname": (
        "matrix",
        "pmatrix",
        "cases",
        "align",
        "align*",
        "array",
        "gather",
        "equation",
        "eqnarray",
        "nosuch",
        "tabular",
        "vmatrix",
    ),
    "cells": ("x", "«row»", "«row»&«cells»", "«row»\\\\«cells»", "\\hline «cells»"),
    "broken": (
        "{",
        "}",
        "\\left(",
        "\\right)",
        "\\frac",
        "^",
        "_",
        "\\\\",
        "&",
        "$",
        "\\begin{",
        "\\end{matrix}",
        "\\",
        "#1",
        "%",
        "\\sqrt[",
    ),
}
_MATHML_NAMES = [
    "mrow",
    "mi",
    "mn",
    "mo",
    "mtext",
    "mspace",
    "ms",
    "mfrac",
    "msqrt",
    "mroot",
    "msub",
    "msup",
    "msubsup",
    "munder",
    "mover",
    "munderover",
    "mmultiscripts",
    "mprescripts",
    "none",
    "mtable",
    "mtr",
    "mtd",
    "mlabeledtr",
    "mfenced",
    "menclose",
    "mstyle",
    "mpadded",
    "mphantom",
    "merror",
    "maction",
    "semantics",
    "annotation",
    "annotation-xml",
    "apply",
    "ci",
    "cn",
    "csymbol",
    "plus",
    "times",
    "power",
    "divide",
    "eq",
    "int",
    "bvar",
    "lowlimit",
    "uplimit",
    "lambda",
    "matrix",
    "matrixrow",
    "piecewise",
    "piece",
    "otherwise",
    "sum",
    "diff",
    "degree",
    "interval",
    "set",
    "math",
    "script",
    "style",
    "svg",
    "foreignObject",
    "html",
    "a",
    "mglyph",
    "malignmark",
]
MATHML: Grammar = {
    "start": (
        "<math>«nodes»</math>",
        '<math xmlns="http://www.w3.org/1998/Math/MathML">«nodes»</math>',
        "«nodes»",
        "<m:math>«nodes»</m:math>",
    ),
    "nodes": ("<mi>x</mi>", "«node»", "«node»«nodes»", "«node»«node»«nodes»", "«text»«nodes»", "«broken»«nodes»"),
    "node": (
        "<mi>x</mi>",
        "<mo>«op»</mo>",
        "<mn>«number»</mn>",
        "<«name»«attributes»>«nodes»</«name»>",
        "<mfrac>«node»«node»</mfrac>",
        "<msubsup>«node»«node»«node»</msubsup>",
        "<mrow>«nodes»</mrow>",
        "<mmultiscripts>«node»<mprescripts/>«node»«node»</mmultiscripts>",
        "<mfenced open='«op»' close='«op»' separators='«op»«op»'>«nodes»</mfenced>",
        "<mtable>«rows»</mtable>",
        "<apply><«name»/>«nodes»</apply>",
        "<apply><csymbol cd='latexml'>«words»</csymbol>«nodes»</apply>",
        "<semantics>«node»<annotation-xml encoding='MathML-Content'>«nodes»</annotation-xml></semantics>",
        "<«name»«attributes»/>",
    ),
    "rows": ("<mtr><mtd>«nodes»</mtd></mtr>", "<mtr><mtd>«nodes»</mtd><mtd>«nodes»</mtd></mtr>«rows»"),
    "name": _MATHML_NAMES,
    "attributes": ("", "", " «attribute»='«value»'", " «attribute»=\"«value»\" «attribute»='«value»'"),
    "attribute": (
        "mathvariant",
        "width",
        "stretchy",
        "columnspan",
        "href",
        "onclick",
        "style",
        "xml:lang",
        "form",
        "type",
        "id",
        "xlink:href",
        "m:x",
    ),
    "value": (
        "bold",
        "«number»",
        "«number»em",
        "true",
        "javascript:alert(1)",
        "«odd_text»",
        "double-struck",
        "url(x)",
        "",
    ),
    "text": (
        "x",
        "«letter»",
        "«words»",
        "&amp;",
        "&alpha;",
        "&nosuch;",
        "&#x1d465;",
        "&",
        "<",
        "«odd_text»",
        "<![CDATA[x]]>",
        "<!-- x -->",
        "<?x?>",
    ),
    "words": ("sum", "limit-from", "absent", "conditional-set"),
    "letter": ("x", "α", "𝑥", "∑", "∫", "′", "⁡", "ℝ"),
    "op": ("+", "-", "=", "(", ")", "∑", "|", ",", "⁡", "⁢", "&lt;", "′", "lim", "‖", "⟨"),
    "broken": (
        "<mrow>",
        "</mrow>",
        "<mi",
        "</",
        "<>",
        "<math>",
        "</math>",
        "<!DOCTYPE x [<!ENTITY a 'b'>]>",
        "&a;",
        "<mi x=1 x=2>",
    ),
}
TYPED: Grammar = {
    "start": (
        "«expr»",
        "«expr» «words»",
        "«words» «expr»",
        "«words» «expr» «words»",
        "«expr»=«expr»",
        "«expr» «rel» «expr»",
    ),
    "expr": ("x", "«atom»", "«atom»«bin»«expr»", "«atom»^«atom»", "«atom»_«atom»", "«atom» «expr»", "«atom»/«expr»"),
    "atom": (
        "x",
        "«letter»",
        "«number»",
        "(«expr»)",
        "sqrt(«expr»)",
        "√«atom»",
        "|«expr»|",
        "«function»(«expr»)",
        "«function» «atom»",
        "sum_(«letter»=«number»)^«atom» «expr»",
        "int_«atom»^«atom» «expr» d«letter»",
        "lim «letter»->«atom» «expr»",
        "integral from «atom» to «atom» of «expr»",
        "sum of «expr» from «letter»=1 to infinity",
        "«atom»!",
        "{«expr»}",
        "[[«expr»,«expr»],[«expr»,«expr»]]",
        "C(«expr»,«expr»)",
        "d/d«letter» «expr»",
        "«letter»«sup»",
        "?«letter»",
        "∑«letter»=1..n",
        "«atom» choose «atom»",
        "f'(«expr»)",
        "«odd_text»",
        "\\frac{«expr»}{«expr»}",
        "$«expr»$",
    ),
    "bin": ("+", "-", "*", "·", "/", "^", "**", "×", "÷", "mod", "%", "−", ",", " ", "±"),
    "rel": ("=", "<", ">=", "≤", "!=", "->", "=>", "≡", "in", "|", "~", ":", "≈"),
    "sup": ("²", "³ⁿ", "₁₂", "^2", "'", "^{-1}", "̂", "⁻¹"),
    "letter": ("x", "y", "n", "k", "a", "π", "alpha", "θ", "e", "i", "dx", "ℝ", "inf", "oo"),
    "function": ("sin", "cos", "ln", "log_2", "f", "gcd", "arctan", "exp", "max", "det", "abs", "floor", "P"),
    "words": (
        "how to prove",
        "closed form of",
        "is irrational",
        "the",
        "of",
        "integral",
        "a",
        "why",
        "show that",
        "tag:calculus",
        '"',
        "-x",
    ),
}
_MATCH_PATTERN = (
    "?x",
    "«latex»",
    "?«letter»«op»?«letter»",
    "M ?x ?x ?x ?x",
    "?f(?x+?y)",
    "?x^{?n}+?y^{?n}",
    "\\int ?f\\,d?x",
    "?a ?b ?c ?d ?e ?f",
)
MATCH: Grammar = {
    **LATEX,
    "start": ("«pattern»\n«target»", "«row»\n«row»", "«pattern»\n«row»", "«pattern»«pattern»\n«target»«target»"),
    "pattern": (
        "?x",
        *(_MATCH_PATTERN[2:]),
        "«row»",
        "?«letter»«script»«op»«pattern»",
        "«pattern»«pattern»",
        "\\{?x,?y,?x,?z\\}",
    ),
    "target": (
        "x",
        "«row»",
        "«letter»«target»",
        "«letter»«target»«letter»«op»«target»",
        "x x x x x x x x «target»",
        "f(x+y)«op»«target»",
    ),
}
TYPED_TOKENS = [
    "x",
    "y",
    "n",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "+",
    "-",
    "*",
    "/",
    "^",
    "_",
    "=",
    "<",
    ">",
    "->",
    "<=",
    "|",
    "||",
    "!",
    "'",
    ",",
    ".",
    "..",
    "...",
    "sqrt(",
    "sum",
    "int",
    "lim",
    "from",
    "to",
    "of",
    "infinity",
    "oo",
    "pi",
    "alpha",
    "sin",
    "cos",
    "ln",
    "d/dx",
    "dx",
    "²",
    "³",
    "ⁿ",
    "₁",
    "√",
    "∑",
    "∫",
    "∞",
    "≤",
    "≠",
    "→",
    "∈",
    "ℝ",
    "×",
    "·",
    "÷",
    "±",
    "′",
    "⟨",
    "⟩",
    "⌊",
    "⌋",
    "1",
    "2",
    "12",
    "1.5",
    "1/2x",
    "mod",
    "choose",
    "root(3)",
    "abs(",
    "?x",
    "$",
    "\\frac{",
    "\\",
    "&",
    "%",
    "#",
    "@",
    "~",
    "`",
    '"',
    ":",
    ";",
    "matrix",
    "[[1,2],[3,4]]",
    "|x|",
    "{x|x>0}",
    "f(x)",
    "a_1",
    "x^2",
    "e^",
    "−",
]


def _packed() -> Sequence[bytes]:
    """Return the stored trees of a few formulas."""
    return [
        pack(parse(latex))
        for latex in ("x", "a^2+b^2=c^2", r"\sum_{k=0}^n \binom nk x^k", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}")
    ]


READERS = (
    Reader("latex", 70, read_latex, LATEX, _latex_tokens(), longest=20_500),
    Reader(
        "mathml",
        100,
        read_mathml,
        MATHML,
        [f"<{name}>" for name in _MATHML_NAMES] + [f"</{name}>" for name in _MATHML_NAMES],
        longest=50_000,
    ),
    Reader("typed", 25, read_typed, TYPED, TYPED_TOKENS, longest=20_000),
    Reader("match", 30, read_match, MATCH, [*_latex_tokens()[:140], "\n", "?x", "?y", "x", "x "], longest=4_000),
    Reader("trees", 220, read_trees, binary=True, longest=5_000, seeds=_packed),
)
