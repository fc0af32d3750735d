"""Documents of MathDowers: the page of a thread as seen from one answer (Task 1), and one formula per visual id (Task
2).

The page of an answer holds the question's title (twice: with formulas, and as LaTeX text), its body, tags and comments,
the answer and its comments, and the titles of duplicate and related questions. Formulas become tuples of their
Presentation MathML. A formula for which the source gives none stays LaTeX text, as in the original; when the source
gives none at all, Porism converts the LaTeX."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from porism.corpus.content import Content
from porism.corpus.post import Comment, Formula, Thread
from porism.formula import parse
from porism.systems.documents import batched
from porism.systems.inverted import TokenDocument
from porism.systems.mathdowers.queries import engine_tokens, latex_words
from porism.systems.mathdowers.tuples import L8_SEARCH, TupleRules, math_tokens
from porism.text.segment import Text

Tokens = Mapping[int, list[str]]  # of formulas, by expression id
KEPT = 30_000  # expressions whose tokens are kept in memory while documents are made
_LINK = re.compile(r'<a\s[^<>]*?href="([^"<>]*)"')


class ThreadDocuments:
    """The documents of a collection's answers."""

    def __init__(self, content: Content, rules: TupleRules = L8_SEARCH) -> None:
        self._content = content
        self._formulas = FormulaTokens(content, rules)
        self._linked = _linked_titles(content)

    def __iter__(self) -> Iterator[TokenDocument]:
        for threads in batched(thread for thread in self._content.threads() if thread.answers):
            others = [other for thread in threads for other in self._linked.get(thread.question.id, ())]
            titles = self._content.titles_by_id(others)
            texts = [text for thread in threads for text in _texts(thread)]
            tokens = self._formulas.of_texts([*texts, *titles.values()])
            for thread in threads:
                linked = [titles[other] for other in self._linked.get(thread.question.id, ()) if other in titles]
                yield from _documents(thread, linked, tokens)


def _texts(thread: Thread) -> Iterator[Text]:
    yield thread.question.title
    yield from (post.body for post in (thread.question, *thread.answers))
    yield from (comment.body for comment in thread.comments)


def _documents(thread: Thread, linked: Sequence[Text], formulas: Tokens) -> Iterator[TokenDocument]:
    """Yield a document for each answer of a thread. `linked` are the titles of linked questions."""
    question, comments = thread.question, defaultdict[int, list[str]](list)  # tokens of comments by post
    for comment in thread.comments:
        comments[comment.post_id] += _comment_tokens(comment, formulas)
    shared = latex_text_tokens(question.title)
    shared += text_tokens(question.title, formulas) + text_tokens(question.body, formulas)
    shared += engine_tokens(" ".join(question.tags)) + comments[question.id]
    for title in linked:
        shared += text_tokens(title, formulas)
    for answer in thread.answers:
        yield TokenDocument(answer.id, shared + text_tokens(answer.body, formulas) + comments[answer.id])


def _comment_tokens(comment: Comment, formulas: Tokens) -> list[str]:
    """Return the tokens of a comment. The original read Markdown, in which the address of a link is text."""
    tokens = text_tokens(comment.body, formulas)
    words = "".join(segment.text for segment in comment.body.segments if segment.kind == "text")
    for segment in comment.body.segments:
        found = _LINK.match(segment.text) if segment.kind == "tag" else None
        if found and found[1] not in words:
            tokens += engine_tokens(found[1])
    return tokens


def text_tokens(text: Text, formulas: Tokens) -> list[str]:
    """Return the tokens of a text, given those of its formulas."""
    tokens: list[str] = []
    for segment in text.segments:
        if segment.kind == "formula":
            tokens += formulas[segment.expression_id]
        elif segment.kind == "text":
            tokens += engine_tokens(segment.text)
    return tokens


def latex_text_tokens(text: Text) -> list[str]:
    """Return the tokens of a text whose formulas are read as LaTeX words."""
    return [token for segment in text.segments if segment.kind != "tag" for token in engine_tokens(segment.text)]


def _linked_titles(content: Content) -> dict[int, list[int]]:
    """Return the questions linked with each question, in either direction, each once."""
    linked: dict[int, set[int]] = {}
    for link in content.all_links():
        linked.setdefault(link.post_id, set()).add(link.other_id)
        linked.setdefault(link.other_id, set()).add(link.post_id)
    return {post: sorted(others) for post, others in linked.items()}


class FormulaTokens:
    """Tokens of the formulas of a collection, each distinct expression read once."""

    def __init__(self, content: Content, rules: TupleRules = L8_SEARCH) -> None:
        self._content = content
        self._rules = rules
        self.converts = not has_mathml(content)
        self._kept: dict[int, list[str]] = {}  # by expression id, the last used at the end

    def of_texts(self, texts: Iterable[Text]) -> Tokens:
        """Return the tokens of the formulas of texts by expression id. What is not in memory is read in one request."""
        numbers = list(dict.fromkeys(formula.expression_id for text in texts for formula in text.formulas))
        unread = self._content.expressions_by_id([number for number in numbers if number not in self._kept])
        self._kept |= {number: self.of_formula(one.latex, one.mathml) for number, one in unread.items()}
        found = {number: self._kept.pop(number) for number in numbers}
        self._kept |= found
        for number in list(islice(self._kept, max(len(self._kept) - KEPT, 0))):
            del self._kept[number]
        return found

    def of_formula(self, latex: str, mathml: str | None) -> list[str]:
        """Return the tokens of a formula with its MathML, or without it: its LaTeX converted or as text."""
        if mathml or self.converts:
            tokens = math_tokens(mathml or parse(latex).mathml, self._rules)
            return tokens if all(token.count("#") == 2 for token in tokens) else engine_tokens(" ".join(tokens))
        return engine_tokens(latex)


def has_mathml(content: Content) -> bool:
    """Check whether the source of a collection gives MathML of any formula."""
    return any(formula.mathml for formula in content.formulas_with_mathml())


class FormulaDocument(NamedTuple):
    """A Task 2 document: the visual id with its tokens, and the formula that represents it in a run."""

    document: TokenDocument
    formula: Formula


def formula_documents(content: Content, with_latex: bool) -> Iterator[FormulaDocument]:
    """Yield one document per visual id: its first formula in a question or answer, if that has tokens."""
    tokens = FormulaTokens(content)
    seen: set[int] = set()
    for formula, mathml, _ in content.formulas_with_mathml():
        if formula.kind not in ("question", "answer") or formula.visual_id in seen or not content.is_listed(formula):
            continue
        seen.add(formula.visual_id)
        words = engine_tokens(" ".join(latex_words(formula.latex))) if with_latex else []
        found = [*words, *(tokens.of_formula(formula.latex, mathml) if mathml or tokens.converts else ())]
        if found:
            yield FormulaDocument(TokenDocument(formula.visual_id, found), formula)
