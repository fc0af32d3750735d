"""A static HTML page for each thread, with native MathML. A page loads nothing from other machines.

Paths are the lab's: `<lowest question of the year>_<year>/<lowest of the month>_<month>/<question>.html`."""

from __future__ import annotations

import html
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from porism.corpus.content import Content, batched
from porism.corpus.post import Post, Thread, User
from porism.text.page import PageRenderer
from porism.text.segment import EMPTY, Text

UNDATED = "undated"
BATCH = 200  # threads that are read together


def export(content: Content, folder: Path) -> None:
    """Write the pages and an index of them."""
    paths = thread_paths(content)
    (folder / "style.css").write_text(files("porism.corpus.export").joinpath("thread.css").read_text("utf-8"), "utf-8")
    for threads in batched(content.threads(), BATCH):
        linked = [link.other_id for thread in threads for link in thread.links if link.other_id in paths]
        owners = [post.owner_id for thread in threads for post in (thread.question, *thread.answers)]
        titles = content.titles_by_id(linked)
        users = content.users_by_id([owner for owner in owners if owner is not None])
        for thread in threads:
            path = folder / paths[thread.question.id]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(thread_page(thread, users, titles, paths), "utf-8")
    with open(folder / "index.html", "w", encoding="utf-8") as out:
        out.write(_head("Threads", "style.css") + "<h1>Threads</h1>\n<ul>\n")
        for one in content.posts("question"):
            out.write(f'<li><a href="{paths[one.id]}">[{one.id}] {html.escape(one.title.plain())}</a></li>\n')
        out.write("</ul>\n</body></html>\n")


def thread_paths(content: Content) -> dict[int, str]:
    """Return the path of the page of each question. Holds one entry per question in memory."""
    dates = {question.id: question.created[:7] for question in content.posts("question")}
    lowest: dict[str, int] = {}
    for number, date in dates.items():
        for period in (date[:4], date):
            lowest[period] = min(lowest.get(period, number), number)
    return {
        number: f"{lowest[date[:4]]}_{date[:4]}/{lowest[date]}_{date[5:]}/{number}.html"
        if date
        else f"{UNDATED}/{number}.html"
        for number, date in dates.items()
    }


@lru_cache(maxsize=50_000)
def formula_html(latex: str) -> str:
    """Return a formula as MathML whose tooltip is its LaTeX."""
    from porism.formula import parse

    mathml = parse(latex).mathml
    return f'<span class="formula" title="{html.escape(latex)}">{mathml}</span>'


_body = PageRenderer(lambda segment: formula_html(segment.text)).render


def _head(title: str, style: str) -> str:
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="{style}"></head>\n<body>\n'
    )


def rounded(reputation: int) -> str:
    """Return reputation as the site shows it: thousands with a k.

    >>> rounded(950), rounded(12_345)
    ('950', '12.3k')
    """
    return str(reputation) if reputation < 1000 else f"{reputation / 1000:.1f}k"


def _author(users: Mapping[int, User], number: int | None) -> str:
    if number is None:
        return ""
    if number not in users:
        return f"user {number}"
    user = users[number]
    badges = "".join(
        f' <span class="{name}" title="{name} badges">●{count}</span>'
        for name, count in (("gold", user.gold), ("silver", user.silver), ("bronze", user.bronze))
        if count
    )
    return f"{html.escape(user.name)} (user {user.id}, {rounded(user.reputation)}){badges}"


def _post(thread: Thread, post: Post, users: Mapping[int, User]) -> str:
    accepted = post.kind == "answer" and post.id == thread.question.accepted_id
    comments = [comment for comment in thread.comments if comment.post_id == post.id]
    mark = '<p class="mark">✓ accepted answer</p>\n' if accepted else ""
    author = _author(users, post.owner_id)
    date = html.escape(post.created[:10])
    rows = "".join(
        f'<li id="comment-{c.id}"><b title="score">{c.score}</b> {_body(c.body)} '
        f"<i>{html.escape(c.created[:10])}</i></li>\n"
        for c in comments
    )
    listed = f'<ul class="comments">\n{rows}</ul>\n' if rows else ""
    return (
        f'<article id="{post.id}" class="{post.kind}{" accepted" if accepted else ""}">\n{mark}'
        f'<p class="score" title="score">{post.score}</p>\n<div class="body">{_body(post.body)}</div>\n'
        f'<p class="by">{author} {date}</p>\n{listed}</article>\n'
    )


def _links(thread: Thread, titles: Mapping[int, Text], paths: Mapping[int, str]) -> str:
    rows = [
        f'<li>{link.kind}: <a href="../../{paths[link.other_id]}">[{link.other_id}] '
        f"{_body(titles.get(link.other_id, EMPTY))}</a></li>\n"
        for link in thread.links
        if link.other_id in paths
    ]
    return f'<section class="links"><h2>Related questions</h2>\n<ul>\n{"".join(rows)}</ul></section>\n' if rows else ""


def thread_page(thread: Thread, users: Mapping[int, User], titles: Mapping[int, Text], paths: Mapping[int, str]) -> str:
    """Return the page of a thread, answers in the order of the collection."""
    question = thread.question
    up = "../" * paths[question.id].count("/")
    tags = " ".join(f'<span class="tag">{html.escape(tag)}</span>' for tag in question.tags)
    answers = "".join(_post(thread, answer, users) for answer in thread.answers)
    count = len(thread.answers)
    return (
        _head(question.title.plain() or f"Question {question.id}", f"{up}style.css")
        + f"<h1>{_body(question.title)}</h1>\n<p>{tags}</p>\n{_post(thread, question, users)}"
        + _links(thread, titles, paths).replace("../../", up)
        + f"<h2>{count} answer{'' if count == 1 else 's'}</h2>\n{answers}</body></html>\n"
    )
