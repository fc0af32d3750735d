"""Who wrote a post: attribution with the original and its licence, and the post as an entry of BibTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from porism.corpus.content import Content
from porism.corpus.post import Comment, Post
from porism.formula import parse
from porism.search.display.post_formulas import readable_latex
from porism.web.site.settings import Licence, Posts

# Sources of the lab: their posts are from this site.
LAB_KINDS = frozenset(("arqmath", "slice"))
LAB_SITE = "math.stackexchange.com"
STACK_EXCHANGE = re.compile(r"(?:.*\.)?(?:stackexchange\.com|mathoverflow\.net|stackoverflow\.com)\Z")
# The first day of each version of the licence, newest first.
VERSIONS = (("2018-05-02", "4.0"), ("2011-04-08", "3.0"), ("0001", "2.5"))


@dataclass(frozen=True, slots=True)
class Attribution:
    """The site that the posts of a collection come from; empty if it is not known. `shift` was added to the ids of the
    site. `pattern` is the address of an original with placeholders, `own_licence` the licence of all posts, where the
    owner has named them."""

    site: str = ""
    shift: int = 0
    pattern: str = ""
    own_licence: Licence | None = None

    def original(self, post: Post) -> str:
        """Return the address of the original of a post, empty if it is not known."""
        pattern = self.pattern or (f"https://{self.site}/{{letter}}/{{id}}" if self.site else "")
        return pattern.format(id=post.id - self.shift, kind=post.kind, letter=post.kind[0])

    def licence(self, post: Post) -> Licence | None:
        """Return the owner's licence, or that of a post of Stack Exchange by its date; without a date, any version."""
        if self.own_licence:
            return self.own_licence
        if not STACK_EXCHANGE.match(self.site):
            return None
        if not post.created:
            return Licence("CC BY-SA", "https://stackoverflow.com/help/licensing")
        version = next((version for since, version in VERSIONS if post.created >= since), VERSIONS[-1][1])
        return Licence(f"CC BY-SA {version}", f"https://creativecommons.org/licenses/by-sa/{version}/")


NO_SITE = Attribution()


def attribution_of(content: Content, posts: Posts) -> Attribution:
    """Return the attribution of a collection: of the site that the owner names, or the one that its source names."""
    sources = content.facts.get("sources") or []
    shift = int(sources[0].get("shift", 0)) if len(sources) == 1 else 0
    site = posts.site or (_source_site(sources[0]) if len(sources) == 1 else "")
    licence = Licence(posts.licence, posts.licence_url) if posts.licence else None
    return Attribution(site, shift, posts.original_link, licence)


def author_names(content: Content, written: Iterable[Post | Comment]) -> dict[int | None, str]:
    """Return the names of those who wrote posts and comments, by their ids; a source may not name all of them."""
    ids = [one.owner_id for one in written if one.owner_id is not None]
    return {user.id: user.name for user in content.users_by_id(ids).values()}


def _source_site(source: Mapping[str, object]) -> str:
    """Return the site that a source names, if it is known to hold the originals."""
    kind, name = source.get("kind", ""), str(source.get("name", "")).removesuffix(".7z")
    if kind in LAB_KINDS:
        return LAB_SITE
    return name if kind == "dump" and STACK_EXCHANGE.match(name) else ""


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
    """Return text on one line, with LaTeX's special characters escaped, and without braces that BibTeX would count."""
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
