"""Citations: a post as an entry of BibTeX."""

from __future__ import annotations

import re

from porism.corpus.post import Post
from porism.search.display.readable import readable_latex

_SPECIAL = re.compile(r"[&%#_{}~^\\]")
_ESCAPES = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def escape_bibtex(text: str) -> str:
    """Return text with the special characters of LaTeX escaped."""
    return _SPECIAL.sub(lambda found: _ESCAPES.get(found[0], "\\" + found[0]), text)


def bibtex_title(question: Post) -> str:
    """Return the title of a question in LaTeX; its formulas stay formulas."""
    return (
        " ".join(
            "".join(
                f"${readable_latex(one.text)}$" if one.is_formula else escape_bibtex(one.text)
                for one in question.title.segments
                if one.kind != "tag"
            ).split()
        )
        or f"Post {question.id}"
    )


def bibtex_entry(post: Post, question: Post, author: str, address: str) -> str:
    """Return the entry of a question or an answer; `address` is its original or its page here."""
    title = bibtex_title(question)
    fields = {
        "author": f"{{{escape_bibtex(author)}}}" if author else "",
        "title": title if post.kind == "question" else f"Answer to: {title}",
        "year": post.created[:4],
        "date": post.created[:10],
        "howpublished": f"\\url{{{address}}}" if address else "",
        "note": f"post {post.id}",
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
    return f"@misc{{post{post.id},\n{lines}}}\n"
