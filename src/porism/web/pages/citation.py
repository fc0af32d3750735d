"""Citations: a post as an entry of BibTeX.

BibTeX counts every brace, also one behind a backslash, and LaTeX executes every command. So text has neither, and a formula stays one only if
its braces balance and the converter knows all of its commands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

from porism.corpus.content import Content
from porism.corpus.post import Post
from porism.formula import parse
from porism.search.display.readable import readable_latex
from porism.web.pages.attribution import Attribution, author_names

_SPECIAL = re.compile(r"[&%$#_{}~^\\]")
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
}
_PAIR = re.compile(r"\\(.)", re.DOTALL)
_BRACES = {"{": r"\lbrace ", "}": r"\rbrace "}
_OUTSIDE_MATHEMATICS = re.compile(r"(?<!\\)(?:\\\\)*[%$#]|\^\^")
# Repairs of what is not mathematics: definitions, comments, links, inner dollar signs.
_REFUSED_REPAIRS = frozenset(("macros", "comments", "style", "dollar signs", "require"))
_NOT_IN_ADDRESSES = re.compile(r"[^!-~]|[{}\\\"<>^`|]")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def escape_bibtex(text: str) -> str:
    """Return text on one line, with the special characters of LaTeX escaped, and without braces that BibTeX would count."""
    line = "".join(sign if sign.isprintable() else " " for sign in text)
    return _SPECIAL.sub(lambda found: _ESCAPES.get(found[0], "\\" + found[0]), line)


def bibtex_formula(latex: str) -> str:
    """Return a formula between dollar signs; one that could end the entry, or that LaTeX could execute, as text."""
    shown = _PAIR.sub(lambda found: _BRACES.get(found[1], found[0]), " ".join(readable_latex(latex).split()))
    return f"${shown}$" if _is_mathematics(shown) else escape_bibtex(f"${shown}$")


def _is_mathematics(latex: str) -> bool:
    depth = 0
    for sign in latex:
        depth += (sign == "{") - (sign == "}")
        if depth < 0 or not sign.isprintable():
            return False
    if depth or latex.endswith("\\") or _OUTSIDE_MATHEMATICS.search(latex):
        return False
    parsed = parse(latex)
    return parsed.path != "opaque" and not parsed.problems and not _REFUSED_REPAIRS.intersection(parsed.repairs)


def bibtex_title(question: Post) -> str:
    """Return the title of a question in LaTeX; its formulas stay formulas."""
    pieces = (
        bibtex_formula(one.text) if one.is_formula else escape_bibtex(one.text)
        for one in question.title.segments
        if one.kind != "tag"
    )
    return " ".join("".join(pieces).split()) or f"Post {question.id}"


def bibtex_entry(post: Post, question: Post, author: str, address: str) -> str:
    """Return the entry of a question or an answer; `address` is its original or its page here."""
    title, date = bibtex_title(question), _DATE.match(post.created)
    place = _NOT_IN_ADDRESSES.sub(lambda found: quote(found[0], errors="replace"), address)
    fields = {
        "author": f"{{{escape_bibtex(author)}}}" if author else "",
        "title": title if post.kind == "question" else f"Answer to: {title}",
        "year": date[0][:4] if date else "",
        "date": date[0] if date else "",
        "howpublished": f"\\url{{{place}}}" if place else "",
        "note": f"post {post.id}",
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
    return f"@misc{{post{post.id},\n{lines}}}\n"


def bibtex_entries(content: Content, posts: Sequence[Post], attribution: Attribution, root: str) -> str:
    """Return the entries of posts. The address of one whose original is not known is its page below `root`."""
    questions = content.posts_by_id([post.thread_id for post in posts])
    authors = author_names(content, posts)
    entries = []
    for post in posts:
        address = attribution.original(post) or f"{root}/posts/{post.id}"
        entries.append(bibtex_entry(post, questions[post.thread_id], authors.get(post.owner_id, ""), address))
    return "\n".join(entries)
