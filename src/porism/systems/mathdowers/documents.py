"""Documents of MathDowers: the page of a thread as seen from one answer (Task 1), and one formula per visual id (Task 2).

The page of an answer holds the question's title (twice: with formulas, and as LaTeX text), its body, tags and comments, the answer and its
comments, and the titles of duplicate and related questions. Formulas become tuples of their Presentation MathML. A formula for which the
source gives none stays LaTeX text, as in the original; when the source gives none at all, Porism converts the LaTeX.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from porism.corpus.post import Comment, Formula, Post
from porism.corpus.store.collection import Collection
from porism.formula import parse
from porism.systems.lexical.inverted import Document
from porism.systems.mathdowers.queries import latex_words
from porism.systems.mathdowers.tuples import L8_SEARCH, TupleRules, math_tokens
from porism.systems.mathdowers.words import engine_tokens
from porism.text.segment import Text

KEPT = 30_000  # expressions whose tokens are kept in memory while documents are made
_LINK = re.compile(r'<a\s[^<>]*?href="([^"<>]*)"')


class ThreadDocuments:
    """The documents of a collection's answers."""

    def __init__(self, collection: Collection, rules: TupleRules = L8_SEARCH) -> None:
        self._collection = collection
        self._formulas = FormulaTokens(collection, rules)
        self._linked = _linked_titles(collection)

    def __iter__(self) -> Iterator[Document]:
        for question in self._collection.posts("question"):
            answers = self._collection.answers(question.id)
            if answers:
                shared = self._question_tokens(question)
                for answer in answers:
                    own = self._text(answer.body) + self._comments(answer.id)
                    yield Document(answer.id, shared + own)

    def _question_tokens(self, question: Post) -> list[str]:
        tokens = latex_text_tokens(question.title) + self._text(question.title) + self._text(question.body)
        tokens += engine_tokens(" ".join(question.tags)) + self._comments(question.id)
        for other in self._linked.get(question.id, ()):
            title = self._collection.title(other)
            if title is not None:
                tokens += self._text(title)
        return tokens

    def _comments(self, post: int) -> list[str]:
        return [token for comment in self._collection.comments(post) for token in self._comment(comment)]

    def _comment(self, comment: Comment) -> list[str]:
        """Return the tokens of a comment. The original read Markdown, in which the address of a link is text."""
        tokens = self._text(comment.body)
        words = "".join(segment.text for segment in comment.body.segments if segment.kind == "text")
        for segment in comment.body.segments:
            found = _LINK.match(segment.text) if segment.kind == "tag" else None
            if found and found[1] not in words:
                tokens += engine_tokens(found[1])
        return tokens

    def _text(self, text: Text) -> list[str]:
        tokens: list[str] = []
        for segment in text.segments:
            if segment.kind == "formula":
                tokens += self._formulas.of_expression(segment.expression_id)
            elif segment.kind == "text":
                tokens += engine_tokens(segment.text)
        return tokens


def latex_text_tokens(text: Text) -> list[str]:
    """Return the tokens of a text whose formulas are read as LaTeX words."""
    return [token for segment in text.segments if segment.kind != "tag" for token in engine_tokens(segment.text)]


def _linked_titles(collection: Collection) -> dict[int, list[int]]:
    """Return the questions linked with each question, in either direction; one that is both duplicate and related counts once."""
    linked: dict[int, set[int]] = {}
    for link in collection.all_links():
        linked.setdefault(link.post_id, set()).add(link.other_id)
        linked.setdefault(link.other_id, set()).add(link.post_id)
    return {post: sorted(others) for post, others in linked.items()}


class FormulaTokens:
    """Tokens of the formulas of a collection, each distinct expression read once."""

    def __init__(self, collection: Collection, rules: TupleRules = L8_SEARCH) -> None:
        self._collection = collection
        self._rules = rules
        self.converts = not has_mathml(collection)
        self.of_expression = lru_cache(KEPT)(self._of_expression)

    def _of_expression(self, number: int) -> list[str]:
        expression = self._collection.expression(number)
        return self.of_formula(expression.latex, expression.mathml)

    def of_formula(self, latex: str, mathml: str | None) -> list[str]:
        """Return the tokens of a formula with its MathML, or without it: its LaTeX converted or as text."""
        if mathml or self.converts:
            tokens = math_tokens(mathml or parse(latex).mathml, self._rules)
            return tokens if all(token.count("#") == 2 for token in tokens) else engine_tokens(" ".join(tokens))
        return engine_tokens(latex)


def has_mathml(collection: Collection) -> bool:
    """Check whether the source of a collection gives MathML of any formula."""
    return any(formula.mathml for formula in collection.formulas_with_mathml())


class FormulaDocument(NamedTuple):
    """A Task 2 document: the visual id with its tokens, and the formula that represents it in a run."""

    document: Document
    formula: Formula


def formula_documents(collection: Collection, with_latex: bool) -> Iterator[FormulaDocument]:
    """Yield one document per visual id: its first formula in the body of a question or answer. Formulas without tokens are left out."""
    tokens = FormulaTokens(collection)
    seen: set[int] = set()
    for formula, mathml, _ in collection.formulas_with_mathml():
        if formula.kind not in ("question", "answer") or formula.visual_id in seen or not collection.is_listed(formula):
            continue
        seen.add(formula.visual_id)
        words = engine_tokens(" ".join(latex_words(formula.latex))) if with_latex else []
        found = [*words, *(tokens.of_formula(formula.latex, mathml) if mathml or tokens.converts else ())]
        if found:
            yield FormulaDocument(Document(formula.visual_id, found), formula)
