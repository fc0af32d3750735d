"""A very small site to attack: its dump, its collection, its index."""

from __future__ import annotations

import html
from pathlib import Path

FORMULAS = (
    "a^2+b^2=c^2",
    r"\sum_{k=0}^n\binom nk=2^n",
    r"\int_0^1x^2\,dx=\frac13",
    r"\sqrt2\notin\mathbb Q",
    r"e^{i\pi}+1=0",
    r"\lim_{n\to\infty}\frac1n=0",
    r"f(x+y)=f(x)+f(y)",
)
WORDS = (
    "triangle",
    "binomial theorem",
    "integral",
    "irrational number",
    "Euler identity",
    "limit",
    "functional equation",
)


def write_dump(folder: Path, threads: int = 8) -> Path:
    """Write the posts, comments and users of a dump; return the folder."""
    posts, comments, number = [], [], 0
    for thread in range(threads):
        number += 1
        question = number
        latex, word = html.escape(FORMULAS[thread % 7]), WORDS[thread % 7]
        posts.append(
            f'<row Id="{question}" PostTypeId="1" CreationDate="2020-01-{thread % 28 + 1:02}T00:00:00.000" Score="{thread}" OwnerUserId="1" '
            f'Title="About ${latex}$ and the {word} {thread}" Body="&lt;p&gt;Why is ${latex}$ true?&lt;/p&gt;" Tags="&lt;algebra&gt;" />'
        )
        for answer in range(2):
            number += 1
            other = html.escape(FORMULAS[(thread + answer + 1) % 7])
            posts.append(
                f'<row Id="{number}" PostTypeId="2" ParentId="{question}" CreationDate="2020-02-{thread % 28 + 1:02}T00:00:00.000" Score="{answer}" '
                f'OwnerUserId="2" Body="&lt;p&gt;By induction on ${other}$ and the {word} {thread}.&lt;/p&gt;" />'
            )
        comments.append(
            f'<row Id="{thread + 1}" PostId="{question}" Text="See $x_{thread}$." UserId="2" CreationDate="2020-03-01T00:00:00.000" />'
        )
    users = ['<row Id="1" DisplayName="Ada" Reputation="7" />', '<row Id="2" DisplayName="Bo" Reputation="3" />']
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("Posts", posts), ("Comments", comments), ("Users", users)):
        text = "\n".join(
            ['<?xml version="1.0" encoding="utf-8"?>', f"<{name.lower()}>", *rows, f"</{name.lower()}>", ""]
        )
        (folder / f"{name}.xml").write_text(text, "utf-8")
    return folder


def build_collection(dump: Path, target: Path) -> Path:
    """Build a collection in this process."""
    from porism.corpus.build.pipeline import build
    from porism.corpus.build.select import Options
    from porism.corpus.sources.detect import open_source
    from porism.progress import Silent

    return build([open_source(dump)], str(target), Options(), jobs=1, progress=Silent())


def build_index(collection: Path, target: Path) -> Path:
    """Build an index."""
    from porism.store.maintenance import build_index as build

    build(collection, target)
    return target


def small_index(folder: Path) -> Path:
    """Return the index of the small site in a folder, built when it is first needed."""
    target = folder / "small.index"
    if not target.exists():
        build_index(build_collection(write_dump(folder / "small.dump"), folder / "small.collection"), target)
    return target
