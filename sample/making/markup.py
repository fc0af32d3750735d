"""Convert the markup of the source to the HTML that Stack Exchange stores."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

# The order matters: the first match in the text wins, and formulas must never be read as emphasis.
INLINE = re.compile(
    r"(?P<code>`[^`]+`)"
    r"|(?P<escaped>\\\$)"
    r"|(?P<display>\$\$.+?\$\$)"
    r"|(?P<math>\$[^$]+?\$)"
    r"|(?P<bracket>\\\(.+?\\\)|\\\[.+?\\\])"
    r"|(?P<environment>\\begin\{(?P<name>[a-z*]+)\}.+?\\end\{(?P=name)\})"
    r"|\[(?P<text>[^\]]+)\]\((?P<target>[^)\s]+)\)"
    r"|\*\*(?P<strong>[^*]+)\*\*"
    r"|\*(?P<em>[^*\s][^*]*)\*",
    flags=re.S,
)


def to_html(text: str, link: Callable[[str], str], spans: bool = False) -> str:
    """Convert a text whose blocks are separated by empty lines; `link` returns the URL of a post's key."""
    blocks = re.split(r"\n\s*\n", text)
    return "".join(_block(block, link, spans) + "\n\n" for block in _joined_code(blocks)).rstrip("\n") + "\n"


def _joined_code(blocks: list[str]) -> list[str]:
    """Join adjacent indented blocks into one listing."""
    joined: list[str] = []
    for block in blocks:
        if block.startswith("    ") and joined and joined[-1].startswith("    "):
            joined[-1] += "\n\n" + block
        else:
            joined.append(block)
    return joined


def _block(block: str, link: Callable[[str], str], spans: bool) -> str:
    def inline(text: str) -> str:
        return _inline(text, link, spans)

    lines = block.split("\n")
    if block.startswith("!html"):
        return block.removeprefix("!html").strip("\n")
    if block.startswith("    "):
        code = "\n".join(line[4:] for line in lines)
        return f"<pre><code>{html.escape(code, quote=False)}\n</code></pre>"
    if block.startswith("> "):
        return f"<blockquote>\n  <p>{inline(_stripped(lines, '> '))}</p>\n</blockquote>"
    if block.startswith("## "):
        return f"<h2>{inline(block[3:])}</h2>"
    if block.strip() == "***":
        return "<hr>"
    if re.match(r"- |\d+\. ", block):
        tag = "ul" if block.startswith("- ") else "ol"
        items = re.split(r"^(?:- |\d+\. )", block, flags=re.M)[1:]
        inner = "\n".join(f"<li>{inline(item.strip())}</li>" for item in items)
        return f"<{tag}>\n{inner}\n</{tag}>"
    return f"<p>{inline(block)}</p>"


def _stripped(lines: list[str], mark: str) -> str:
    return "\n".join(line.removeprefix(mark) for line in lines)


def _inline(text: str, link: Callable[[str], str], spans: bool) -> str:
    out: list[str] = []
    end = 0
    for found in INLINE.finditer(text):
        out.append(html.escape(text[end : found.start()], quote=False))
        out.append(_piece(found, link, spans))
        end = found.end()
    out.append(html.escape(text[end:], quote=False))
    return "".join(out)


def _piece(found: re.Match[str], link: Callable[[str], str], spans: bool) -> str:
    whole = html.escape(found[0], quote=False)
    if found["code"]:
        return f"<code>{whole[1:-1]}</code>"
    if found["target"]:
        target = found["target"]
        address = target if ":" in target else link(target)
        return f'<a href="{html.escape(address)}">{_inline(found["text"], link, spans)}</a>'
    if found["strong"]:
        return f"<strong>{_inline(found['strong'], link, spans)}</strong>"
    if found["em"]:
        return f"<em>{_inline(found['em'], link, spans)}</em>"
    if spans and (found["display"] or found["math"] or found["environment"]):
        return f'<span class="math-container">{whole}</span>'
    return whole
