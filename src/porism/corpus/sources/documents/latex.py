"""LaTeX documents: formulas are cut out, with the document's own macros expanded, and the rest becomes HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from unicodedata import normalize

from porism.corpus.sources.documents.section import Document, HeadingPath, Section, with_spans
from porism.formula.latex.macros import Budget, definitions
from porism.text.find import ACCENTS, LETTER_ACCENTS, LETTERS, expand, find_formulas
from porism.text.read import clean, without_placeholders

COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
DOCUMENT = re.compile(r"\\begin\{document\}(.*?)(?:\\end\{document\}|\Z)", re.DOTALL)
DEFINITION = re.compile(r"^[ \t]*\\(?:(?:re|provide)?newcommand|def|let|DeclareMathOperator)\b.*$", re.MULTILINE)
# Bounded, and no blank is read twice: what opens and never closes must not be searched to the end of the text again and
# again.
HEADING = re.compile(r"\\(chapter|section|subsection)\*?\s*+(?:\[[^\]]{0,500}\])?\s*+\{")
HEADING_LEVELS = {"chapter": 1, "section": 2, "subsection": 3}
COMMAND = re.compile(r"\\([A-Za-z@]+)\*?\s*|\\(.)", re.DOTALL)
LISTS = {"itemize": "ul", "enumerate": "ol", "description": "ul"}
QUOTES = {
    "quote": "blockquote", "quotation": "blockquote", "abstract": "blockquote", "verbatim": "pre", "lstlisting": "pre",
}  # fmt: skip
# Environments of layout; their names are not headings.
SILENT = {
    "center", "figure", "table", "flushleft", "flushright", "minipage", "document", "titlepage", "thebibliography",
    "tabular",
}  # fmt: skip
ENVIRONMENT = re.compile(r"\\(begin|end)\s*+\{([A-Za-z]+)\*?\}(?:\[([^\]]{0,500})\])?")
SIGNS = (("---", "—"), ("--", "–"), ("``", "“"), ("''", "”"), ("~", "\u00a0"))
SIGNS_BY_NAME = {**LETTERS, "ldots": "…", "dots": "…"}
# A declaration at the start of a group: {\em coprime}.
DECLARED = re.compile(r"\{\\(em|itshape|it|slshape|sl|bfseries|bf)\b[ \t\n]*")
DEEPEST = 40
BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
LABEL = re.compile(r"\[([^\]]{0,300})\]")
ACCENTED = re.compile(r"\s*+\{?(\\?[A-Za-z])\}?")


@cache
def commands() -> dict[str, tuple[int, str]]:
    """Return the commands of text: their number of arguments and their HTML."""
    lines = files("porism.corpus.sources.documents").joinpath("commands.tsv").read_text("utf-8").splitlines()[1:]
    rows = (line.split("\t") for line in lines)
    return {name: (int(arguments), form) for name, arguments, form in rows}


def read_latex(text: str) -> Document:
    """Split a LaTeX document into chapters, sections and subsections."""
    text = COMMENT.sub(r"\1", without_placeholders(text))
    macros = definitions(text)
    title = _argument_of(text, "title") or _argument_of(text, "pmtitle")
    document = DOCUMENT.search(text)
    found = find_formulas(DEFINITION.sub("", document[1] if document else text), "latex")
    budget = Budget(len(text))
    latex = tuple(expand(formula, macros, budget) for formula in found.latex)
    sections = [
        Section(with_spans(_inline(heading), found, latex), with_spans(clean(_blocks(body)), found, latex))
        for heading, body in _split(DECLARED.sub(r"\\emph{", found.text))
    ]
    return Document(_inline(title), (), sections, budget.refused)


def _argument_of(text: str, command: str) -> str:
    start = re.search(rf"\\{command}\s*\{{", text)
    return _group(text, start.end() - 1)[0] if start else ""


def _group(text: str, at: int) -> tuple[str, int]:
    """Return the content of the group that opens at `at`, and its end; an unclosed group ends with the text."""
    depth = 0
    for brace in BRACE.finditer(text, at):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0 and brace[0] == "}":
            return text[at + 1 : brace.start()], brace.end()
    return text[at + 1 :], len(text)


def _split(text: str) -> Iterator[tuple[str, str]]:
    """Yield the headings above each section, with its own as the levels of a title, and its text."""
    title, last, path = "", 0, HeadingPath()
    for start in HEADING.finditer(text):
        if start.start() < last:
            continue
        yield title, text[last : start.start()]
        heading, last = _group(text, start.end() - 1)
        title = path.enter(HEADING_LEVELS[start[1]], heading)
    yield title, text[last:]


def _blocks(text: str) -> str:
    paragraphs = (normalize("NFC", _environments(_inline(part))) for part in re.split(r"\n\s*\n", text))
    return "".join(f"<p>{part.strip()}</p>\n" for part in paragraphs if part.strip())


def _environments(text: str) -> str:
    """Translate lists, quotations and statements: `\\begin{theorem}[Euler]` starts with "Theorem (Euler)."""

    def put(match: re.Match[str]) -> str:
        edge, name, note = match.groups()
        tag = LISTS.get(name) or QUOTES.get(name)
        if tag:
            return f"<{'/' if edge == 'end' else ''}{tag}>"
        if edge == "end" or name in SILENT:
            return " "
        return f"<strong>{name.capitalize()}{f' ({note})' if note else ''}.</strong> "

    return ENVIRONMENT.sub(put, text)


def _inline(text: str, depth: int = 0) -> str:
    """Translate commands to HTML by the table; unknown ones are dropped, their arguments stay."""
    out: list[str] = []
    at = 0
    while found := COMMAND.search(text, at):
        out.append(_words(text[at : found.start()]))
        piece, at = _command(text, found, depth)
        out.append(piece)
    out.append(_words(text[at:]))
    return "".join(out)


def _words(text: str) -> str:
    text = text.replace("{", "").replace("}", "")
    for sign, character in SIGNS:
        text = text.replace(sign, character)
    return html.escape(text, quote=False)


def _command(text: str, found: re.Match[str], depth: int) -> tuple[str, int]:
    name, at = found[1], found.end()
    if name is None:
        return _sign(text, found[2], at)
    if name in ("begin", "end"):
        environment = ENVIRONMENT.match(text, found.start())
        return (html.escape(environment[0]), environment.end()) if environment else ("", at)
    if name == "item":
        label = LABEL.match(text, at)
        return (f"<li><strong>{_words(label[1])}</strong> ", label.end()) if label else ("<li>", at)
    if name in LETTER_ACCENTS and text[at : at + 1] == "{":
        letter, end = _group(text, at)
        return html.escape(letter[:1]) + LETTER_ACCENTS[name] + html.escape(letter[1:]), end
    if name not in commands():
        return SIGNS_BY_NAME.get(name, ""), at
    number, form = commands()[name]
    arguments = []
    if option := LABEL.match(text, at):
        at = option.end()
    for _ in range(number):
        argument, at = _group(text, at) if text[at : at + 1] == "{" else ("", at)
        arguments.append(_inline(argument, depth + 1) if depth < DEEPEST else "")
        at += 40 - len(text[at : at + 40].ljust(40, "x").lstrip()) if text[at : at + 40].lstrip()[:1] == "{" else 0
    return form.format(*arguments), at


def _sign(text: str, sign: str, at: int) -> tuple[str, int]:
    if sign in ACCENTS:
        bare = ACCENTED.match(text, at)
        return (bare[1].lstrip("\\") + ACCENTS[sign], bare.end()) if bare else ("", at)
    return ("<br>" if sign == "\\" else "" if sign in "-/@,;:!()[]" else html.escape(sign, quote=False)), at
