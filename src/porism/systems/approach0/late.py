"""The dense half of Approach Zero: late interaction (ColBERT) over answers, formulas, or posts around a formula, alone,
fused, and as a re-ranker.

Only the other half, the engine, reads hand-written queries in Task 1; in Task 2 both read the refined formula.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal

import numpy as np

from porism.corpus.content import batched
from porism.errors import PorismError
from porism.models.tokens import maxsim
from porism.records import Topic
from porism.search.fusion import ScaledSum
from porism.search.query import ReadQuery
from porism.search.retriever import DEPTH, Fused, Ranking, Reranker, Retriever
from porism.systems.approach0.lexer import UnreadableFormula, tokenize
from porism.systems.approach0.retriever import formulas_of
from porism.systems.approach0.text_index import IndexedFormula, distinct_formulas, formula_instances
from porism.systems.arrays import Singles, best_of, first_of_each, reordered
from porism.systems.declared.context import SystemContext
from porism.systems.documents import AT_ONCE, TextDocument, answer_texts
from porism.systems.encoded import Documents, EncodedDocuments, TextSource, encoded_documents, open_late_interaction
from porism.systems.named_models import AppliedModel, chosen_model
from porism.systems.topic_queries import HandQueries, topic_of, topic_text
from porism.text.segment import Segment, Text, plain_text

Reads = Literal["formula", "post"]
SYMBOL = "$equal$"  # a token that models of Approach Zero know
CODE = (__name__, "porism.systems.approach0.lexer")
_TOKEN_FILES = ("tokenizer.json", "added_tokens.json", "vocab.txt")
Marks = Literal["dollars", "none"]
MASK = "[MASK]"
_SPACE = re.compile(r"\s+")
# Tokens without a symbol of their own; braces that only group are left out.
_FENCES = {"open": "lparen", "close": "rparen", "open square": "lbrack", "close square": "rbrack"}
_WITHOUT = ("open brace", "close brace")
_SEVERAL_DIGITS = re.compile(r"bignum|\d\d+")


@lru_cache(100_000)
def symbols(latex: str) -> tuple[str, ...]:
    """Return the symbols of a formula without their fonts; an integer of several digits is `somenum`. Of a formula that
    the lexer does not read, nothing.

    >>> symbols(r"\\\\mathbb{R}^2 = \\\\frac{x}{12}")
    ('R', 'supscript', '2', 'equal', 'frac', 'x', 'somenum')
    """
    try:
        tokens = tokenize(html.unescape(latex))
    except UnreadableFormula:
        return ()
    shown = (token for token in tokens if token.role not in _WITHOUT)
    found = (token.symbol.rpartition(":")[2] or _FENCES.get(token.role, "") for token in shown)
    return tuple("somenum" if _SEVERAL_DIGITS.fullmatch(one) else one for one in found if one)


@dataclass(frozen=True, slots=True)
class SymbolFormat:
    """How formulas are written for a model."""

    marks: Marks = "dollars"

    @property
    def key(self) -> tuple[object, ...]:
        """What shapes the text of posts."""
        return (self.marks,)

    def formula(self, latex: str) -> str:
        """Return a formula as text."""
        sign = "$" if self.marks == "dollars" else ""
        return " ".join(f"{sign}{symbol}{sign}" for symbol in symbols(latex))

    def text(self, text: Text) -> str:
        """Return a text with its formulas."""
        return _written(text, lambda segment: self.formula(segment.text))

    def topic(self, topic: Topic) -> str:
        """Return title and body of a topic, each on a line."""
        fields = [self.text(topic_text(topic, "title")), self.text(topic_text(topic, "question"))]
        return "\n".join(field for field in fields if field)

    def masked(self, text: Text, formula_id: int) -> str:
        """Return a text with one formula; every other one is a mask."""
        return _written(text, lambda segment: self.formula(segment.text) if segment.formula_id == formula_id else MASK)


def _written(text: Text, formula: Callable[[Segment], str]) -> str:
    return _SPACE.sub(" ", plain_text(text, lambda segment: f" {formula(segment)} ")).strip()


def fusion(
    context: SystemContext,
    late_interaction: str,
    of: tuple[str, ...],
    share: float = 0.5,
    reads: Reads = "formula",
    length: int = 512,
) -> Retriever:
    """Fuse late interaction, with the weight `share`, and one system of the engine, after min-max scaling. In Task 2
    `reads` says what a document is: the formula alone, or its post with every other formula masked."""
    if len(of) != 1 or not 0 <= share <= 1:
        fact = "fuses one system with a share from 0 to 1"
        raise PorismError(fact, fix='write of = ["approach0/a0"] and share = 0.5')
    if context.task == 2:
        found: Retriever = FormulaLate(LateTexts(context, late_interaction, length), context.queries, reads)
    else:
        found = AnswerLate(context, late_interaction, length)
    names = (f"late interaction ({found.models[0].directory})", of[0])
    return Fused((found, context.system(of[0])), ScaledSum((share, 1 - share), 0.0), names, DEPTH)


class LateTexts:
    """Texts in the form of Approach Zero, and the model that encodes them."""

    def __init__(self, context: SystemContext, late_interaction: str, length: int) -> None:
        chosen = chosen_model(late_interaction, context.models)
        files = (chosen.directory.path / name for name in _TOKEN_FILES)
        # Symbols are written between dollar signs for a model that knows such tokens.
        known = any(SYMBOL in file.read_text("utf-8", "replace") for file in files if file.is_file())
        self.content, self.form = context.content, SymbolFormat("dollars" if known else "none")
        self._context, self._digest = context, chosen.directory.digest
        self._model = open_late_interaction(chosen.directory, length)
        self.use: AppliedModel = chosen.use(f"{self._model.record.pooling}, {self._model.record.length} tokens")

    def stored(self, name: str, documents: Documents) -> EncodedDocuments:
        """Return the token vectors of documents, encoded once."""
        source = TextSource(name, self.form.key, documents, CODE)
        return encoded_documents(self._context, source, (self._model.record.length, self._digest), self._model.encode)

    def query(self, text: str) -> Singles:
        """Return the token vectors of a query."""
        return np.asarray(self._model.encode([text], role="query")[0])

    def answers(self) -> EncodedDocuments:
        """Return the token vectors of all answers."""
        return self.stored("late-answers", partial(answer_texts, self.content, self.form))

    def maxsim(self, query: Singles, texts: list[str]) -> Singles:
        """Return MaxSim of a query with texts that are not stored."""
        return maxsim(query, self._model.encode(texts))


class AnswerLate(Retriever):
    """All answers by late interaction with the topic as it is: title and body."""

    def __init__(self, context: SystemContext, late_interaction: str, length: int = 512) -> None:
        self._texts = LateTexts(context, late_interaction, length)
        self._documents, self.models = self._texts.answers(), (self._texts.use,)

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k answers."""
        text = self._texts.form.topic(topic_of(query))
        if not text or not len(self._documents.ids):
            return Ranking.of({})
        return best_of(self._documents.ids, self._documents.maxsim(self._texts.query(text)), k)


class LateReranker(Reranker):
    """Orders answers by late interaction alone; of equal scores the order of before is kept."""

    def __init__(self, context: SystemContext, late_interaction: str, length: int = 512, depth: int = DEPTH) -> None:
        self._texts, self.depth = LateTexts(context, late_interaction, length), depth
        self._documents, self.models = self._texts.answers(), (self._texts.use,)

    def rerank(self, query: ReadQuery, ranking: Ranking) -> Ranking:
        """Return the answers with the highest score first."""
        text = self._texts.form.topic(topic_of(query))
        if not text or not len(ranking):
            return ranking
        places = np.searchsorted(self._documents.ids, ranking.ids)
        return reordered(ranking, self._documents.maxsim(self._texts.query(text), places).astype(np.float64))


class FormulaLate(Retriever):
    """Formulas by late interaction: at most five instances of each visual id, the best of which counts."""

    finds = "formulas"

    def __init__(self, texts: LateTexts, queries: HandQueries | None, reads: Reads) -> None:
        self._texts, self._queries, self._reads = texts, queries, reads
        self.models = (texts.use,)
        instances = list(formula_instances(texts.content))
        self._visuals = np.array([one.visual_id for one in instances], np.int64)
        if reads == "formula":
            self._documents = texts.stored("late-formulas", partial(_formulas, texts, instances))
            self._rows = np.searchsorted(self._documents.ids, [one.formula for one in instances])
        else:
            self._documents = texts.stored("late-contexts", partial(_contexts, texts, instances))
            self._rows = np.arange(len(instances))

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the visual ids of the best instances, each once."""
        text = self._query_text(query)
        if not text or not len(self._visuals):
            return Ranking.of({})
        scores = self._documents.maxsim(self._texts.query(text))[self._rows].astype(np.float64)
        kept = first_of_each(self._visuals, np.argsort(-scores, kind="stable"), k)
        return Ranking(self._visuals[kept], scores[kept])

    def _query_text(self, query: ReadQuery) -> str:
        alone = " ".join(map(self._texts.form.formula, formulas_of(query, self._queries)))
        topic = topic_of(query)
        number = topic.formula_id.rpartition("_")[2]
        if self._reads == "formula" or not number.isdecimal():
            return alone
        fields = (topic_text(topic, "title"), topic_text(topic, "question"))
        return "\n".join(self._texts.form.masked(field, int(number)) for field in fields).strip() or alone


def _formulas(texts: LateTexts, instances: list[IndexedFormula]) -> Iterator[TextDocument]:
    """Yield each distinct formula that an instance has, by its number."""
    used = {one.formula for one in instances}
    for number, latex in enumerate(distinct_formulas(texts.content)):
        if number in used:
            yield TextDocument(number, texts.form.formula(latex))


def _contexts(texts: LateTexts, instances: list[IndexedFormula]) -> Iterator[TextDocument]:
    """Yield the post of each instance with other formulas masked; a formula of a list without posts is alone."""
    for some in batched(instances, AT_ONCE):
        formulas = texts.content.formulas_by_id([one.id for one in some])
        posts = texts.content.posts_by_id([one.post_id for one in formulas.values() if one.post_id])
        for one in some:
            formula = formulas[one.id]
            if not formula.post_id:
                yield TextDocument(one.id, texts.form.formula(formula.latex))
                continue
            post = posts[formula.post_id]
            fields = [texts.form.masked(field, one.id) for field in (post.title, post.body)]
            yield TextDocument(one.id, "\n".join(field for field in fields if field))
