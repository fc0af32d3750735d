"""Posts, threads and formulas as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from porism.corpus.content import Content
from porism.corpus.post import Comment, Post
from porism.text.segment import terminal_text

INSTANCES = 10


def show_post(content: Content, number: int) -> Iterator[str]:
    """Yield a post with its comments."""
    post, comments = content.posts_by_id([number])[number], content.comments_by_post([number])
    yield from _post(post, comments.get(number, []), content.has_votes)


def _post(post: Post, comments: list[Comment], has_votes: bool, accepted: bool = False) -> Iterator[str]:
    fields = [
        f"{post.kind} {post.id}",
        f"score {post.score}" if has_votes else "",
        post.created[:10],
        f"user {post.owner_id}" if post.owner_id else "",
        "✓ accepted" if accepted else "",
    ]
    yield "  ".join(field for field in fields if field)
    if post.title:
        yield terminal_text(post.title)
    if post.tags:
        yield " ".join(f"[{tag}]" for tag in post.tags)
    yield ""
    yield terminal_text(post.body)
    for comment in comments:
        score = f"({comment.score}) " if has_votes else ""
        yield f"    {score}{terminal_text(comment.body)}"
    yield ""


def show_thread(content: Content, number: int) -> Iterator[str]:
    """Yield a question with its answers and links."""
    thread = content.threads_by_id([number])[number]
    for post in (thread.question, *thread.answers):
        comments = [comment for comment in thread.comments if comment.post_id == post.id]
        yield from _post(post, comments, content.has_votes, post.id == thread.question.accepted_id)
    titles = content.titles_by_id([link.other_id for link in thread.links])
    for link in thread.links:
        title = titles.get(link.other_id)
        yield f"{link.kind}: [{link.other_id}] {terminal_text(title) if title else '(outside the collection)'}"


def show_formula(content: Content, number: int) -> Iterator[str]:
    """Yield a formula: its position, how it is parsed, and which formulas look the same."""
    from porism.formula import tangent
    from porism.formula.binary import unpack_layout

    formula = content.formulas_by_id([number])[number]
    expression = content.expressions_by_formula([number])[number]
    yield (
        f"formula {formula.id}  visual id {formula.visual_id}  in the {formula.kind} of post {formula.post_id}, "
        f"thread {formula.thread_id}" + (f"  issue {formula.issue}" if formula.issue else "")
    )
    yield f"latex      {formula.latex}"
    yield f"layout     {tangent(unpack_layout(expression.trees))}"
    yield f"parsed by  {expression.path}" + (f": {expression.problem}" if expression.problem else "")
    group = content.visuals_by_id([formula.visual_id])[formula.visual_id]
    yield f"{group.formulas} formulas in {group.posts} posts look the same:"
    for instance in content.instances([formula.visual_id], INSTANCES)[formula.visual_id]:
        yield f"  {instance.id}  post {instance.post_id}  {instance.latex}"
