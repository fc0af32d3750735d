"""What is read of a post: its text in pieces, each with its terms and formulas, and the texts that a model reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, get_args

from porism.analysis.learned import defined_terms, name_keys
from porism.analysis.schema import HEADING_FIELDS
from porism.analysis.terms import stem_terms
from porism.corpus.content import Content
from porism.corpus.post import LEVEL, Thread
from porism.text.segment import STORED, TAG, WORDS, Segment, Text, ends_line, plain_text, stored_formula
from porism.text.words import FORMULA, WORD, stems_of

# A comment that points to another question, by its address or as its duplicate.
_FORMULA_MARK = f" {FORMULA} "
POINTER = re.compile(r"duplicate|questions/\d+", re.IGNORECASE)


def text_and_formulas(text: Text) -> tuple[str, list[Segment]]:
    """Return the text of a field, in which the mark FORMULA replaces each formula, and the formulas."""
    words: list[str] = []
    formulas: list[Segment] = []
    for mark, content in STORED.findall(text.stored):  # as `prose` reads it, without a segment for every piece of text
        if mark == WORDS:
            words.append(content)
        elif mark != TAG:
            formulas.append(stored_formula(mark, content))
            words.append(_FORMULA_MARK)
        elif ends_line(content):
            words.append("\n")
    return "".join(words), formulas


def tag_text(tags: tuple[str, ...]) -> str:
    """Return tags as words: `real-analysis` is two."""
    return f" {FORMULA} ".join(tag.replace("-", " ") for tag in tags)


class PieceTerms(NamedTuple):
    """A piece of text: the text, its words, their stems, its terms in each family, and its formulas."""

    text: str
    words: list[str]
    stems: list[str]
    terms: dict[str, list[str]]
    formulas: list[Segment]


def make_piece(text: str, formulas: list[Segment]) -> PieceTerms:
    """Analyse a text whose formulas are replaced by the mark FORMULA."""
    words = WORD.findall(text)
    stems = stems_of(words)
    return PieceTerms(text, words, stems, stem_terms(stems), formulas)


def title_levels(title: Text) -> list[PieceTerms]:
    """Return the levels of a title, the outermost first: a book, a chapter, a section, the name itself."""
    text, formulas = text_and_formulas(title)
    left = iter(formulas)
    return [make_piece(level, [next(left) for _ in range(level.count(FORMULA))]) for level in text.split(LEVEL)]


class Pieces(NamedTuple):
    """The pieces of a thread. Headings are by field; `names` are the terms of the title as a whole and of what the
    question defines, by field; comments are by post, answers in their order."""

    title: PieceTerms
    headings: dict[str, PieceTerms]
    names: dict[str, list[str]]
    body: PieceTerms
    tags: PieceTerms
    linked: list[PieceTerms]
    answers: list[PieceTerms]
    comments: dict[int, list[PieceTerms]]


def split_thread(thread: Thread, linked_titles: Sequence[Text], links: bool) -> Pieces:
    """Split a thread into pieces. Without `links`, leave out comments that point to other questions."""
    question = thread.question
    comments: dict[int, list[PieceTerms]] = {}
    for comment in thread.comments:
        if links or POINTER.search(comment.body.stored) is None:
            comments.setdefault(comment.post_id, []).append(make_piece(*text_and_formulas(comment.body)))
    *above, title = title_levels(question.title)
    return Pieces(
        title,
        dict(zip(HEADING_FIELDS, reversed(above[-len(HEADING_FIELDS) :]), strict=False)),
        {
            "title": name_keys(title.text, [formula.text for formula in title.formulas]),
            "question": list(defined_terms(question.body)),
        },
        make_piece(*text_and_formulas(question.body)),
        make_piece(tag_text(question.tags), []),
        [make_piece(*text_and_formulas(title)) for title in linked_titles],
        [make_piece(*text_and_formulas(answer.body)) for answer in thread.answers],
        comments,
    )


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
