"""Attribution: who wrote a post, where the original is, and under which licence it may be used.

Posts of Stack Exchange are under CC BY-SA, which asks to name the author and to link to the original. The version of the licence depends on
the date of a post: 2.5 until April 2011, 3.0 until May 2018, 4.0 since (stackoverflow.com/help/licensing).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from porism.corpus.post import Post
from porism.corpus.store.collection import Collection

# Sources of the lab: their posts are from this site.
LAB_KINDS = frozenset(("arqmath", "slice"))
LAB_SITE = "math.stackexchange.com"
SITE_NAME = re.compile(r"(?:[a-z0-9-]+\.)*[a-z0-9-]+\.[a-z]{2,}\Z")
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
    """The site that the posts of a collection come from; empty if it is not known. `shift` was added to the ids of the site."""

    site: str = ""
    shift: int = 0

    def original(self, post: Post) -> str:
        """Return the address of the original of a post, empty if it is not known."""
        if not self.site:
            return ""
        return f"https://{self.site}/{'q' if post.kind == 'question' else 'a'}/{post.id - self.shift}"

    def licence(self, post: Post) -> Licence | None:
        """Return the licence of a post of Stack Exchange by its date; without a date, any version."""
        if not STACK_EXCHANGE.match(self.site):
            return None
        if not post.created:
            return Licence("CC BY-SA", "https://stackoverflow.com/help/licensing")
        version = next((version for since, version in VERSIONS if post.created >= since), VERSIONS[-1][1])
        return Licence(f"CC BY-SA {version}", f"https://creativecommons.org/licenses/by-sa/{version}/")


NO_SITE = Attribution()


def attribution_of(collection: Collection, site: str = "") -> Attribution:
    """Return the attribution of a collection: of the site that the operator names, or the one that its source names."""
    sources = collection.manifest.get("sources") or []
    shift = int(sources[0].get("shift", 0)) if len(sources) == 1 else 0
    if site:
        return Attribution(site.removeprefix("https://").rstrip("/"), shift)
    if len(sources) != 1:
        return NO_SITE
    kind, name = sources[0].get("kind", ""), str(sources[0].get("name", "")).removesuffix(".7z")
    if kind in LAB_KINDS:
        return Attribution(LAB_SITE, shift)
    return Attribution(name, shift) if kind == "dump" and STACK_EXCHANGE.match(name) else NO_SITE
