"""Attribution: who wrote a post, where the original is, and under which licence it may be used.

Posts of Stack Exchange are under CC BY-SA, which asks to name the author and to link to the original. The version of the licence depends on
the date of a post: 2.5 until April 2011, 3.0 until May 2018, 4.0 since (stackoverflow.com/help/licensing).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from porism.corpus.content import Content
from porism.corpus.post import Comment, Post
from porism.web.site.settings import Posts

# Sources of the lab: their posts are from this site.
LAB_KINDS = frozenset(("arqmath", "slice"))
LAB_SITE = "math.stackexchange.com"
STACK_EXCHANGE = re.compile(r"(?:.*\.)?(?:stackexchange\.com|mathoverflow\.net|stackoverflow\.com)\Z")
# The first day of each version of the licence, newest first.
VERSIONS = (("2018-05-02", "4.0"), ("2011-04-08", "3.0"), ("0001", "2.5"))


@dataclass(frozen=True, slots=True)
class Licence:
    """A licence: its name, and the address of its text."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class Attribution:
    """The site that the posts of a collection come from; empty if it is not known. `shift` was added to the ids of the site.

    `pattern` is the address of an original with placeholders, `own_licence` the licence of all posts, where the owner has named them.
    """

    site: str = ""
    shift: int = 0
    pattern: str = ""
    own_licence: Licence | None = None

    def original(self, post: Post) -> str:
        """Return the address of the original of a post, empty if it is not known."""
        pattern = self.pattern or (f"https://{self.site}/{{letter}}/{{id}}" if self.site else "")
        return pattern.format(id=post.id - self.shift, kind=post.kind, letter=post.kind[0])

    def licence(self, post: Post) -> Licence | None:
        """Return the licence that the owner named, or that of a post of Stack Exchange by its date; without a date, any version."""
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
