"""MathML for pages: no inline styles, which the content policy blocks, bounded lengths, root signs at the height of
their content, and brackets that do not stretch around low content."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from porism.caching import cached_text

LARGEST_EM = 40.0  # a single length
LARGEST_TOTAL_EM = 200.0  # all widths and heights of a formula together
_EM = {"em": 1, "rem": 1, "ex": 0.5, "px": 1 / 16, "pt": 1 / 12, "pc": 1, "mm": 0.24, "cm": 2.4, "in": 6, "%": 0.01}
_LENGTH = re.compile(
    r' (depth|height|linethickness|lspace|maxsize|minsize|rspace|voffset|width)="([+-]?)([0-9.]++) ?([a-z%]*+)[^"]*+"',
    re.IGNORECASE,
)
_LARGER_LEVEL = re.compile(r' scriptlevel="(?!\+?[0-9]{1,2}")[^"]*"')  # than normal size
_SPAN = re.compile(r' (columnspan|rowspan)="([^"]*)"')
MOST_SPANNED = 100


def bounded_lengths(mathml: str) -> str:
    """Return MathML with bounded lengths: LARGEST_EM each, LARGEST_TOTAL_EM together. Font sizes only get smaller."""
    total = 0.0

    def length(found: re.Match[str]) -> str:
        nonlocal total
        name, sign, number, unit = found[1], found[2], found[3], found[4].lower()
        try:
            size = float(number) * _EM[unit or "em"]
        except (ValueError, KeyError):
            return ""  # not a length that a browser knows
        bounded = min(size, LARGEST_EM, max(0.0, LARGEST_TOTAL_EM - total))
        total += bounded
        return found[0] if bounded == size else f' {name}="{sign}{bounded:g}em"'

    def span(found: re.Match[str]) -> str:
        return found[0] if found[2].isascii() and found[2].isdecimal() and int(found[2][:6]) <= MOST_SPANNED else ""

    if _LENGTH.search(mathml):
        mathml = _LENGTH.sub(length, mathml)
    if " scriptlevel=" in mathml:
        mathml = _LARGER_LEVEL.sub("", mathml)
    return _SPAN.sub(span, mathml) if "span=" in mathml else mathml


_STYLE = re.compile(r' style="([^"]*)"')
_CLASS = re.compile(r' class="([^"]*)"')
_OPEN_WITH_STYLE = re.compile(r'<[a-z]++(?=[^<>]* style=")[^<>]*+>')
_COLOUR = re.compile(r"color:\s*(#[0-9A-Fa-f]{3,6}|[a-z]+)\Z")
_TAG = re.compile(r"<(/?)([a-z]++)[^<>]*+>")
# Browsers draw combining accents beside the formula, so signs of their own replace them: an overline that stretches, a
# wide hat and tilde.
_WIDE_ACCENT = re.compile("<mo([^<>]*)>([\u0302\u0303\u0305\u0332])</mo></mover>")
_UNDERLINE = re.compile("<mo([^<>]*)>\u0332</mo></munder>")
_ERROR = re.compile(r"<merror[^<>]*><mtext>\\([A-Za-z]*+)[^<]*+</mtext></merror>")
# Commands that the converter does not know: of layout, which show nothing, and of spaces, to which an author joined
# letters (`\\quadx`).
_LAYOUT = frozenset(
    ("ds", "hfil", "hfill", "small", "large", "Large", "tiny", "normalsize", "nonumber", "notag", "noindent", "par")
)
_SPACE = re.compile(r"(q?quad|langle|rangle|cdot|times)([A-Za-z]*)\Z")
_SPACES = {
    "quad": '<mspace width="1em"></mspace>', "qquad": '<mspace width="2em"></mspace>',
    "langle": '<mo stretchy="false">⟨</mo>', "rangle": '<mo stretchy="false">⟩</mo>',
    "cdot": "<mo>⋅</mo>", "times": "<mo>×</mo>",
}  # fmt: skip
_PRIME = re.compile("<mo([^<>]*)>([′″‴⁗]+)</mo></(msup|msubsup)>")
_ACCENTS = {"\u0302": ("ˆ", True), "\u0303": ("˜", True), "\u0305": ("‾", False), "\u0332": ("‾", False)}
# The declarations of the converter, without blanks, and the classes of math.css.
CLASSES = {
    "text-align:left": "m-left", "text-align:right": "m-right", "text-align:center": "m-centre",
    "padding-left:0": "m-pl0", "padding-right:0": "m-pr0", "padding-top:0": "m-pt0", "padding-bottom:0": "m-pb0",
    "padding-left:1em": "m-pl1", "padding-left:0.1em": "m-plx", "padding-right:0.1em": "m-prx",
    "padding-left:0.1667em": "m-plt", "padding-right:0.1667em": "m-prt", "padding-top:0.1667em": "m-ptt",
    "border-left:0.05emsolidcurrentcolor": "m-bl", "border-right:0.05emsolidcurrentcolor": "m-br",
    "border-top:0.05emsolidcurrentcolor": "m-bt", "border-bottom:0.05emsolidcurrentcolor": "m-bb",
    "border-left:0.05emdashedcurrentcolor": "m-bld", "border-right:0.05emdashedcurrentcolor": "m-brd",
    "border-top:0.05emdashedcurrentcolor": "m-btd", "border-bottom:0.05emdashedcurrentcolor": "m-bbd",
    "margin-left:-0.16666667em": "m-ml3", "margin-left:-0.2222222em": "m-ml4", "margin-left:-0.22222222em": "m-ml4",
    "margin-left:-0.2777778em": "m-ml5", "margin-left:-0.27777778em": "m-ml5", "width:100%": "m-w100",
    "width:50%": "m-w50", "width:7.5%": "m-w7",
}  # fmt: skip
KEPT_BYTES = 14_000_000  # of formulas for pages; one takes 1.3 KB on average
# A root sign is at least 1.19 em high and grows downwards from the top of its text: over a small letter it hangs below
# the line. A strut of this height inside the root puts its top where the font means it to be.
STRUT = '<mspace height="0.77em"></mspace>'


@cached_text(KEPT_BYTES)
def page_math(mathml: str) -> str:
    """Return clean MathML for a page with a strict content policy."""
    mathml = bounded_lengths(mathml)
    if " style=" in mathml:
        mathml = _OPEN_WITH_STYLE.sub(_without_style, mathml)
    if "<merror" in mathml:
        mathml = _ERROR.sub(_unknown_command, mathml)
    if "</mover>" in mathml:
        mathml = _WIDE_ACCENT.sub(_accent, mathml)
    if "</munder>" in mathml:
        mathml = _UNDERLINE.sub(r"<mo\1>_</mo></munder>", mathml)
    if "′" in mathml or "″" in mathml:
        mathml = _PRIME.sub(
            lambda found: f"<mo{_added_class(found[1], 'm-prime')}>{found[2]}</mo></{found[3]}>", mathml
        )
    if "<msqrt" in mathml or "<mroot" in mathml:
        mathml = _with_struts(mathml)
    return fit_fences(mathml) if "<mrow" in mathml else mathml


def _unknown_command(found: re.Match[str]) -> str:
    """Return what a reader sees of a command that nobody knows: its name, as of an operator, without its backslash."""
    name = found[1]
    if joined := _SPACE.match(name):
        letters = "".join(f"<mi>{letter}</mi>" for letter in joined[2])
        return f"<mrow>{_SPACES[joined[1]]}{letters}</mrow>"
    return "<mrow></mrow>" if name in _LAYOUT else f'<mi mathvariant="normal">{name}</mi>'


def is_blank(mathml: str) -> bool:
    """Return whether a formula shows nothing, as one that only defines macros."""
    return not _TAG.sub("", mathml).strip()


def _accent(found: re.Match[str]) -> str:
    sign, wide = _ACCENTS[found[2]]
    attributes = _added_class(found[1], "m-wide") if wide else found[1]
    return f"<mo{attributes}>{sign}</mo></mover>"


def _added_class(attributes: str, names: str) -> str:
    own = _CLASS.search(attributes)
    return f'{_CLASS.sub("", attributes)} class="{own[1] + " " if own else ""}{names}"'


def _without_style(found: re.Match[str]) -> str:
    tag = found[0]
    style = _STYLE.search(tag)
    if style is None:
        return tag
    names: list[str] = []
    colour = ""
    for declaration in style[1].split(";"):
        if match := _COLOUR.match(declaration.strip()):
            colour = f' mathcolor="{match[1]}"'
        elif name := CLASSES.get(declaration.replace(" ", "")):
            names.append(name)
    tag = _STYLE.sub("", tag)
    if names:
        tag = f"{_added_class(tag[:-1], ' '.join(names))}>"
    return f"{tag[:-1]}{colour}>" if colour else tag


def _with_struts(mathml: str) -> str:
    """Put a strut into every root: as the first child of `msqrt`, around the first child of `mroot`."""
    out: list[str] = []
    bases: list[int] = []  # depths of the elements that are the first child of an `mroot`
    depth = at = 0
    previous = ""
    for tag in _TAG.finditer(mathml):
        out.append(mathml[at : tag.end()])
        at = tag.end()
        if tag[1]:
            depth -= 1
            if bases and bases[-1] == depth:
                bases.pop()
                out.append("</mrow>")
        else:
            if previous == "mroot":
                out.insert(-1, f"<mrow>{STRUT}")
                bases.append(depth)
            if tag[2] == "msqrt":
                out.append(STRUT)
            depth += 1
        previous = "" if tag[1] else tag[2]
    return "".join([*out, mathml[at:]])


# A browser gives a bracket that can stretch the width of the widest one of the font, so `\\left(x\\right)` looks like
# `( x )`. LaTeX takes brackets of ordinary height around content without fractions, tables, roots and limits; here such
# brackets are marked as not stretching.
FENCES = frozenset("()[]{}|⟨⟩‖⌊⌋⌈⌉∣∥/")
# Elements that are higher than a line, and operators that are drawn large.
TALL_ELEMENTS = frozenset(
    ("mfrac", "mtable", "munder", "munderover", "msqrt", "mroot", "menclose", "mpadded", "mphantom")
)
TALL_OPERATORS = re.compile("[∑∏∐∫∬∭∮⋃⋂⨁⨂⨀⋁⋀⨆]")
_TAG_AND_TEXT = re.compile(r"<(/?)([a-z]++)([^<>]*+)>([^<]*+)")
_SCRIPTS = frozenset(("msup", "msub", "msubsup"))
_DEEPEST_SCRIPT = 2  # scripts of scripts are still low, their scripts are not


class _Tag(NamedTuple):
    """A tag of MathML and the text that follows it."""

    closing: str
    name: str
    attributes: str
    text: str

    @property
    def has_size(self) -> bool:
        return "size=" in self.attributes

    @property
    def is_tall(self) -> bool:
        if self.name == "mo":
            return self.has_size or TALL_OPERATORS.match(self.text) is not None
        return self.name in TALL_ELEMENTS or (self.name == "mover" and "accent" not in self.attributes)


@dataclass(slots=True)
class _Element:
    """An open element: whether it holds something tall, its levels of scripts, and the brackets among its children."""

    name: str
    tall: bool = False
    scripts: int = 0
    brackets: list[int] = field(default_factory=list)


def fit_fences(mathml: str) -> str:
    """Return MathML whose brackets around low content do not stretch."""
    tags = [_Tag(*found.groups()) for found in _TAG_AND_TEXT.finditer(mathml)]
    fixed: set[int] = set()
    stack = [_Element("")]
    for at, tag in enumerate(tags):
        if not tag.closing:
            if tag.name == "mo" and tag.text in FENCES and "stretchy" not in tag.attributes and not tag.has_size:
                stack[-1].brackets.append(at)
            if not tag.attributes.endswith("/"):
                stack.append(_Element(tag.name, tag.is_tall))
        elif len(stack) > 1:
            done = stack.pop()
            if done.name == "mrow" and not done.tall and done.scripts <= _DEEPEST_SCRIPT:
                fixed.update(done.brackets)
            stack[-1].tall |= done.tall
            stack[-1].scripts = max(stack[-1].scripts, done.scripts + (done.name in _SCRIPTS))
    if not fixed:
        return mathml
    added = (' stretchy="false"' if at in fixed else "" for at in range(len(tags)))
    return "".join(
        f"<{one.closing}{one.name}{one.attributes}{new}>{one.text}" for one, new in zip(tags, added, strict=True)
    )
