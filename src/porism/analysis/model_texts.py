"""What a model reads of a post: titles, questions (title and body), answers; formulas as LaTeX between dollar signs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, get_args

from porism.corpus.content import Content
from porism.text.render import plain_text
from porism.text.segment import Text

EncodedField = Literal["titles", "questions", "answers"]
FIELDS: tuple[EncodedField, ...] = get_args(EncodedField)
OPTION = "encoder"  # the option of the manifest that describes the vectors of posts
FORMAT = (
    "titles: <title>; questions: <title> newline <body>; answers: <body>; formulas as $LaTeX$; white space collapsed"
)
BATCH = 500  # threads that are read from the collection at once


class PostText(NamedTuple):
    """The text of a post in one field."""

    id: int
    text: str


def model_text(text: Text) -> str:
    """Return a text as models read it."""
    return " ".join(plain_text(text).split())


def question_text(title: Text, body: Text) -> str:
    """Return title and body of a question as models read them."""
    return f"{model_text(title)}\n{model_text(body)}".strip()


def post_texts(content: Content, field: EncodedField, questions: Sequence[int]) -> Iterator[PostText]:
    """Yield the texts of a field of the threads of these questions, in their order."""
    for start in range(0, len(questions), BATCH):
        batch = [int(number) for number in questions[start : start + BATCH]]
        if field == "answers":
            answers = content.answers_by_question(batch)
            own = (answer for number in batch for answer in answers.get(number, ()))
            yield from (PostText(answer.id, model_text(answer.body)) for answer in own)
            continue
        posts = content.posts_by_id(batch)
        for number in batch:
            post = posts[number]
            text = model_text(post.title) if field == "titles" else question_text(post.title, post.body)
            yield PostText(post.id, text)
