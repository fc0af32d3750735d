"""Read Presentation MathML of any origin, also ill-formed, and write clean MathML Core."""

from __future__ import annotations

import html
import re
from functools import cache
from xml.etree.ElementTree import Element, ParseError, fromstring

from porism.formula.characters import xml_source
from porism.formula.layout.labels import bold

_NAMESPACE = re.compile(r"""\sxmlns(?::\w+)?\s*=\s*("[^"]*"|'[^']*')""")
_PREFIX = re.compile(r"<(/?)\w+:(?=[a-z])")
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[0-9A-Fa-f]+);)(\w+;)?")
_ALTTEXT = re.compile(r'\salttext="[^"]*"(?=\s+\w+=|\s*>)')
_BARE = re.compile(r"<(?!/?[A-Za-z]|!--|\?xml)")


def read(text: str) -> Element:
    """Return the `math` element of a MathML text."""
    text = _plain(text)
    try:
        root = fromstring(text)
    except ParseError:
        root = _recover(text)
    if "<mfenced" not in text:
        return root
    # Browsers no longer support `mfenced`: it becomes a row with brackets and separators.
    for element in list(root.iter("mfenced")):
        separators = element.get("separators", ",").split() or [""]
        row = [_sign(element.get("open", "("))]
        for at, child in enumerate(list(element)):
            if at:
                row.append(_sign(separators[min(at, len(separators)) - 1]))
            row.append(child)
        element.tag = "mrow"
        element[:] = [*row, _sign(element.get("close", ")"))]
    return root


def is_well_formed(text: str) -> bool:
    """Check whether a MathML text is well-formed XML; HTML's named entities are allowed."""
    try:
        fromstring(_plain(text))
    except ParseError:
        return False
    return True


def _plain(text: str) -> str:
    """Remove namespaces and forbidden characters, and replace HTML's named entities by their characters."""
    text = xml_source(text)
    if "xmlns" in text:
        text = _NAMESPACE.sub("", text)
    return _ENTITY.sub(_entity, text) if "&" in text else text


def _sign(text: str) -> Element:
    sign = Element("mo")
    sign.text = text
    return sign


def _entity(found: re.Match[str]) -> str:
    name = found[1]
    char = html.unescape(found[0]) if name else ""
    return html.escape(char) if char and char != found[0] else "&amp;" + (name or "")


def _recover(text: str) -> Element:
    """Read ill-formed MathML: escape raw `<` and `&` that open nothing, then let lxml recover the rest."""
    from lxml import etree

    text = re.sub(r"<\?xml[^<>]*\?>", "", text).strip()
    text = _PREFIX.sub(r"<\1", _BARE.sub("&lt;", _ALTTEXT.sub("", text)))
    try:
        return fromstring(text)
    except ParseError:
        pass
    parser = etree.XMLParser(
        recover=True, huge_tree=True, resolve_entities=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), parser)
        if root is None:
            return Element("math")
        for element in root.iter("*"):  # lxml keeps repeated attributes
            attributes = dict(element.attrib)
            element.attrib.clear()
            element.attrib.update(attributes)
        return fromstring(etree.tostring(root))
    except (etree.LxmlError, ParseError, ValueError):  # ValueError: a name or text that lxml reads, but does not write
        return Element("math")


# The elements of MathML Core; any other becomes a row.
_ELEMENTS = frozenset(
    [
        "math", "mrow", "mi", "mn", "mo", "mtext", "ms", "mspace", "mfrac", "msqrt", "mroot", "msub", "msup",
        "msubsup", "munder", "mover", "munderover", "mmultiscripts", "mprescripts", "none", "mtable", "mtr", "mtd",
        "mstyle", "mpadded", "mphantom", "menclose", "merror", "semantics",
    ]
)  # fmt: skip
_ATTRIBUTES = frozenset(
    [
        "accent", "accentunder", "columnspan", "rowspan", "depth", "dir", "display", "displaystyle", "fence", "form",
        "height", "largeop", "linethickness", "lspace", "rspace", "mathvariant", "maxsize", "minsize",
        "movablelimits", "notation", "scriptlevel", "separator", "stretchy", "symmetric", "voffset", "width",
    ]
)  # fmt: skip
_TOKENS = frozenset(("mi", "mn", "mo", "mtext", "ms"))
# The styles with which the converter aligns columns, draws lines and colours; no URL, no function.
_SAFE_STYLE = re.compile(
    r"(?:(?:text-align|justify-items|padding(?:-\w+)?|border(?:-\w+)?|width|color|margin-left): ?[\w .%#-]++;?\s*+)*+\Z"
)
_SAFE_VALUE = re.compile(r"[\w.+% -]*\Z")


# Clean MathML as `clean` writes it: known elements, harmless attributes, and text only in tokens.
_STYLES = (
    r"(?:(?:text-align|justify-items|padding(?:-\w+)?|border(?:-\w+)?|width|color|margin-left): ?[\w .%#-]++;? ?)*+"
)
_ATTRIBUTE = rf' (?:style="{_STYLES}"|(?:{"|".join(sorted(_ATTRIBUTES))})="[\w.+% -]*+")'
_CONTAINERS = "|".join(sorted(_ELEMENTS - _TOKENS - {"math"}))
# Characters that XML allows, without those that a parser changes.
_CHARACTERS = r"(?:[^<>&\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]|&(?:amp|lt|gt);)*+"


def _harmless_attributes(element: str) -> str:
    """Return the pattern of attributes, each once. The converter writes one twice for \\mathop\\middle|."""
    again = rf' (?P<{element}>[a-z]++)="[^"<>]*+"[^<>]* (?P={element})='
    return rf"(?:(?!{again}){_ATTRIBUTE})*+"


_TOKEN = "|".join(rf"<{name}{_harmless_attributes(name)}>{_CHARACTERS}</{name}>" for name in sorted(_TOKENS))
_EMPTY = re.compile(r"<(m[a-z]++|none)([^<>]*)/>")


@cache
def _clean_pattern() -> re.Pattern[str]:
    """Compile the pattern of clean MathML on first use: it is long."""
    return re.compile(rf"<math>(?:{_TOKEN}|</?(?:{_CONTAINERS}){_harmless_attributes('container')}>)*+</math>")


def clean_converted(text: str) -> str:
    """Return a converter's well-formed MathML as clean MathML Core; most is clean already."""
    written = _ENTITY.sub(_entity, text) if "&" in text else text
    if "/>" in written:
        written = _EMPTY.sub(r"<\1\2></\1>", written)
    return written if _clean_pattern().fullmatch(written) else clean(read(text))


def clean(root: Element) -> str:
    """Write an element as clean MathML Core: one for each one read, with harmless attributes only."""
    out: list[str] = []
    stack: list[Element | str] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        tag = item.tag
        if tag in ("annotation", "annotation-xml"):
            continue
        if item is root:
            tag = "math"
        elif tag not in _ELEMENTS:
            tag = "mtext" if not len(item) and (item.text or "").strip() else "mrow"
        attributes = "".join([f' {name}="{value}"' for name, value in item.items() if _harmless(name, value)])
        if tag in _TOKENS:
            out.append(f"<{tag}{attributes}>{html.escape(_text(item), quote=False)}</{tag}>")
            continue
        out.append(f"<{tag}{attributes}>")
        stack.append(f"</{tag}>")
        stack.extend(reversed(item))
    return "".join(out)


def _harmless(name: str, value: str) -> bool:
    if name == "style":
        return len(value) < 200 and _SAFE_STYLE.match(value) is not None
    return name in _ATTRIBUTES and _SAFE_VALUE.match(value) is not None


def _text(element: Element) -> str:
    """Return the text of a token; bold HTML inside becomes bold letters."""
    if not len(element):
        return element.text or ""
    return "".join(bold(text) if element[0].tag == "b" else text for text in element.itertext())
