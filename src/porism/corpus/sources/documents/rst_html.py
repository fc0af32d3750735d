"""reStructuredText as HTML with formulas in official spans: the only module that uses docutils.

Nothing outside of the document is read: file insertion, raw output, configuration files and embedded pictures are
switched off."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from docutils import nodes
from docutils.core import publish_doctree, publish_from_doctree
from docutils.readers.standalone import Reader
from docutils.transforms.references import Substitutions
from docutils.utils.math import pick_math_environment

from porism.text.markup import math_span

SETTINGS: dict[str, Any] = {
    "_disable_config": True,
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "embed_stylesheet": False,
    "stylesheet_path": "",
    "syntax_highlight": "none",
    "doctitle_xform": False,  # the title is a heading like all others
    "initial_header_level": 1,
    "report_level": 5,
    "halt_level": 5,
    "warning_stream": False,
    "traceback": True,  # raise errors instead of ending the process
    "input_encoding": "unicode",
    "output_encoding": "unicode",
}
# How docutils begins its messages on directives and options of Sphinx and of other extensions.
REFUSED = re.compile(r'Unknown directive type|Error in "[\w-]+" directive')
VERBATIM = ("code", "code-block", "sourcecode", "literalinclude", "highlight")
DEEPEST = 3  # refused directives inside each other whose content is read
READ_FILES = ("loading", "scale", "width", "height")  # options of a picture for which the writer would read the file
MOST_SUBSTITUTED = 1_000_000  # characters that substitutions may add to a document


class _RstReader(Reader):  # type: ignore[misc]
    """The standalone reader without nested substitutions, whose size can double with each line of the source."""

    def get_transforms(self) -> list[Any]:
        return [transform for transform in super().get_transforms() if transform is not Substitutions]


def rst_to_html(text: str) -> str:
    """Return a document as an HTML page. What docutils cannot read raises an exception of any kind."""
    return str(publish_from_doctree(_tree(text, 0), writer="html5", settings_overrides=SETTINGS))


def _tree(text: str, depth: int) -> Any:
    """Parse a text; replace formulas by official spans and refused directives by their content."""
    tree = publish_doctree(text, reader=_RstReader(), settings_overrides=SETTINGS)
    _substitute(tree)
    for node in list(tree.findall(nodes.math)):
        node.replace_self(nodes.raw("", math_span(f"${node.astext()}$"), format="html"))
    for node in list(tree.findall(nodes.math_block)):
        span = nodes.raw("", math_span(f"$${_display(node.astext())}$$"), format="html")
        node.replace_self(nodes.paragraph("", "", span))
    for node in tree.findall(nodes.literal):
        node["classes"] = ["code"]  # written as <code>, in which no formulas are found
    for node in tree.findall(nodes.image):
        for name in READ_FILES:
            node.attributes.pop(name, None)
    for node in list(tree.findall(nodes.problematic)):
        _replace(node, [nodes.Text(node.astext())])
    for node in list(tree.findall(nodes.system_message)):
        _replace(node, _content(node, depth))
    return tree


def _substitute(tree: Any) -> None:
    """Replace references to substitutions by what they mean; references inside of definitions stay text."""
    for definition in tree.substitution_defs.values():
        for node in list(definition.findall(nodes.substitution_reference)):
            _replace(node, [nodes.Text(node.astext())])
    left = MOST_SUBSTITUTED
    for node in list(tree.findall(nodes.substitution_reference)):
        name = node["refname"]
        spelled = tree.substitution_names.get(name.lower())
        known = tree.substitution_defs.get(name) or tree.substitution_defs.get(spelled)
        left -= len(known.astext()) if known is not None else 0
        content = [child.deepcopy() for child in known.children] if known is not None and left > 0 else []
        _replace(node, content or [nodes.Text(node.astext())])


def _replace(node: Any, content: list[Any]) -> None:
    """Replace a node that others may refer to."""
    at = node.parent.index(node)
    node.parent[at : at + 1] = content


def _display(latex: str) -> str:
    """Return the LaTeX of a displayed formula; one with several lines gets the environment that it needs."""
    environment = pick_math_environment(latex)
    if environment.startswith("equation") or latex.lstrip().startswith(r"\begin"):
        return latex
    return rf"\begin{{{environment}}}{latex}\end{{{environment}}}"


def _content(message: Any, depth: int) -> list[Any]:
    """Return the content of a directive that docutils refuses (theorem, ...); nothing for other messages."""
    source = next(iter(message.findall(nodes.literal_block)), None)
    if source is None or depth >= DEEPEST or not REFUSED.search(message.astext()):
        return []
    head, _, rest = source.astext().partition("\n")
    name, _, argument = head.removeprefix("..").partition("::")
    lines = textwrap.dedent(rest).split("\n")
    while lines and lines[0].startswith(":"):
        lines.pop(0)
    if name.strip() in VERBATIM:
        text = "\n".join(lines)
        return [nodes.literal_block(text, text)]
    if name.strip() == "math":
        lines = [".. math::", "", *(f"   {line}" for line in (argument.strip(), *lines))]
        argument = ""
    return list(_tree("\n".join([argument.strip(), "", *lines]), depth + 1).children)
