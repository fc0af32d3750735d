"""The terms by which a post is indexed: analysers, which turn a text or a formula into terms, and the pieces of a
thread with their terms. Also the texts of posts that a model reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from porism.analysis.features import LEVEL_PREFIX, RENAMED, Features, features
from porism.analysis.learned import defined_terms, name_keys
from porism.analysis.schema import HEADING_FIELDS
from porism.corpus.content import Content
from porism.corpus.post import LEVEL, Thread
from porism.formula import Parsed
from porism.formula.canonical import LEVELS, Level
from porism.text.segment import STORED, TAG, WORDS, Segment, Text, ends_line, plain_text, stored_formula
from porism.text.words import FORMULA, WORD, stems, stems_of, stopwords

BRACKETS = ("#(start)#", "#(end)#")  # enclose the tuples of every formula, so they distinguish none
SMALLEST = 9  # tuples of the smallest formula that is a concept of its own; smaller ones occur everywhere
_FORMULA_MARK = f" {FORMULA} "
# A comment that points to another question, by its address or as its duplicate.
POINTER = re.compile(r"duplicate|questions/\d+", re.IGNORECASE)
EncodedField = Literal["titles", "questions", "answers"]
ENCODED_FIELDS: tuple[EncodedField, ...] = get_args(EncodedField)
ENCODER = "encoder"  # the option of the manifest that describes the vectors of posts
ENCODED_FORMAT = (
    "titles: <title>; questions: <title> newline <body>; answers: <body>; formulas as $LaTeX$; white space collapsed"
)
BATCH = 500  # threads that are read from the collection at once


@dataclass(frozen=True, slots=True)
class Words:
    """Stemmed words, without stop words unless `stopwords` is false."""

    stopwords: bool = True

    def of_stems(self, stems: Sequence[str]) -> list[str]:
        """Return the words.

        >>> Words().of_stems(["the", "prime", "number"])
        ['prime', 'number']
        """
        stop = stopwords() if self.stopwords else frozenset()
        return [stem for stem in stems if stem not in stop and stem != FORMULA]


@dataclass(frozen=True, slots=True)
class WordPairs:
    """Pairs of neighbouring words. Stop words are skipped, and no pair spans a formula."""

    stopwords: bool = True

    def of_stems(self, stems: Sequence[str]) -> list[str]:
        """Return the pairs.

        >>> WordPairs().of_stems(["axiom", "of", "choic"])
        ['axiom_choic']
        """
        stop = stopwords() if self.stopwords else frozenset()
        pairs: list[str] = []
        left = ""
        for stem in stems:
            if stem == FORMULA:
                left = ""
            elif stem not in stop:
                if left:
                    pairs.append(f"{left}_{stem}")
                left = stem
        return pairs


@dataclass(frozen=True, slots=True)
class LayoutTuples:
    """Tuples of the symbol layout tree (mathtuples); with `brackets` also the two that enclose every formula."""

    brackets: bool = False

    def of_formula(self, features: Features) -> list[str]:
        """Return the tuples."""
        return features.tuples if self.brackets else [term for term in features.tuples if term not in BRACKETS]


@dataclass(frozen=True, slots=True)
class OperatorPaths:
    """Short paths of the operator tree, each once by classes alone and once with the symbol at its lower end."""

    def of_formula(self, features: Features) -> list[str]:
        """Return the paths."""
        return features.paths


@dataclass(frozen=True, slots=True)
class SubExpressions:
    """Hashes of all sub-expressions at some canonical levels."""

    levels: tuple[Level, ...] = LEVELS

    def __post_init__(self) -> None:
        unknown = set(self.levels) - set(LEVELS)
        if unknown:
            raise ValueError(f"no level is named {sorted(unknown)[0]}; the levels are {', '.join(LEVELS)}")

    def of_formula(self, features: Features) -> list[str]:
        """Return the hashes."""
        prefixes = tuple(LEVEL_PREFIX[level] for level in self.levels)
        return features.parts if self.levels == LEVELS else [term for term in features.parts if term[0] in prefixes]


# The families of an index of posts. The two stricter levels of sub-expressions would add nothing to the tuples.
TEXT_ANALYSERS: Mapping[str, Words | WordPairs] = {"words": Words(), "pairs": WordPairs()}
FORMULA_ANALYSERS: Mapping[str, LayoutTuples | OperatorPaths | SubExpressions] = {
    "tuples": LayoutTuples(),
    "paths": OperatorPaths(),
    "parts": SubExpressions(("commutative", "renamed")),
}


def formula_terms(formula: Parsed) -> dict[str, list[str]]:
    """Return the terms of a formula by family."""
    return feature_terms(features(formula.layout, formula.operators))


def feature_terms(found: Features) -> dict[str, list[str]]:
    """Return the terms of a formula by family from its features."""
    return {family: analyser.of_formula(found) for family, analyser in FORMULA_ANALYSERS.items()}


def form_term(form: int) -> str:
    """Return the term of a sub-expression at the renamed level from its hash."""
    return f"{RENAMED}0{form:016x}"


def text_terms(text: str) -> dict[str, list[str]]:
    """Return the terms of a text by family; the mark FORMULA replaces each formula."""
    return stem_terms(stems(text))


def stem_terms(found: Sequence[str]) -> dict[str, list[str]]:
    """Return the terms of a text by family from its stems."""
    return {family: analyser.of_stems(found) for family, analyser in TEXT_ANALYSERS.items()}


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
    text, formulas = text_and_formulas(question.title)
    left = iter(formulas)
    levels = [make_piece(level, [next(left) for _ in range(level.count(FORMULA))]) for level in text.split(LEVEL)]
    *above, title = levels  # a book, a chapter, a section, the name itself
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
