"""The engine: one opened index that finds answers, questions and formulas, explains itself, and answers in a passage."""

from __future__ import annotations

import time
from collections import OrderedDict
from itertools import islice
from pathlib import Path
from threading import Lock

import numpy as np
import numpy.typing as npt

from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.index.build import KIND
from porism.index.manifest import read_manifest
from porism.index.threads.posts import Posts
from porism.records import Explanation, Hit, Query
from porism.search.answers.alike import AlikeSearcher
from porism.search.answers.explain import Explainer
from porism.search.answers.rerank import KINDS, Kind, Model, load_model
from porism.search.answers.scoring import has_any
from porism.search.answers.searcher import AnswerSearcher, Study, scales
from porism.search.arguments import (
    check_choice,
    check_flag,
    check_integer,
    check_page,
    check_query,
    check_tags,
    check_text,
    check_years,
)
from porism.search.ask import best_passage
from porism.search.display.formulas import formula_page
from porism.search.display.highlight import Highlighter
from porism.search.display.results import Extract, FormulaResults, Results, SearchHit
from porism.search.display.snippet import SnippetBuilder
from porism.search.filters import NO_FILTER, Filter, suggestions, threads_of
from porism.search.formulas.searcher import MODES, FormulaSearcher, Mode
from porism.search.generate import Endpoint, generate_answer
from porism.search.query import ReadQuery, read_query

REMEMBERED = 32  # studies of queries that are kept, so that pages and explanations of a query come at once
MOST_CONCEPTS = 4  # that are told of a query
Numbers = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float32]
MAX_HIGHLIGHTED_FORMULAS = 6  # of a query that are compared with the formulas of a hit


class Engine:
    """An opened index. May be used by several threads at once."""

    def __init__(self, path: Path, collection: Collection, model: Model, *, vectors: bool = True) -> None:
        self.path = path
        place = collection.path.resolve()
        self.name = place.parent.name if place.name == "collection" else place.name
        self.collection = collection
        self.model = model
        self.endpoint: Endpoint | None = None
        self.formula_searcher = FormulaSearcher.open(path / "formulas", collection=collection.digest)
        alike = AlikeSearcher(self.formula_searcher, collection)
        self.searcher = AnswerSearcher(Posts(path / "posts"), alike, vectors=vectors)
        # Notes and books have no answers: there a search for answers finds the documents themselves.
        self._has_answers = len(self.searcher.posts.answer_ids) > 0
        self._studies: OrderedDict[tuple[ReadQuery, Kind], tuple[Study, npt.NDArray[np.float32]]] = OrderedDict()
        self._lock = Lock()

    @classmethod
    def open(cls, path: str | Path, model: str | Path | None = None) -> Engine:
        """Open an index, or say what is wrong with it and what to run. `model` names a file that `porism train` made."""
        place = Path(path)
        manifest = read_manifest(place, KIND)
        home = (place / str(manifest.options["collection"])).resolve()
        collection = Collection.open(home)
        if collection.digest != manifest.collection:
            raise PorismError(
                f"was built from another collection than the one at {home}",
                where=str(place),
                fix=f"build the index again: porism index {home} -o {place}",
            )
        fitted = load_model(None if model is None else Path(model))
        return cls(place, collection, fitted, vectors=bool(manifest.options.get("vectors", True)))

    def search(
        self,
        query: str | Query,
        k: int = 10,
        kind: Kind = "answers",
        tags: tuple[str, ...] = (),
        years: tuple[int, int] | None = None,
        accepted: bool = False,
        offset: int = 0,
    ) -> Results:
        """The best answers or questions for words and formulas together."""
        began = time.perf_counter()
        asked = self.read(check_query(query, "search"))
        k, offset = check_page(k, offset, "search")
        kind = check_choice(kind, "search", "kind", KINDS)
        if kind == "answers" and not self._has_answers:
            kind = "questions"
        narrow = Filter(
            check_tags(tags, "search"), check_years(years, "search"), check_flag(accepted, "search", "accepted")
        )
        scores, rows = self._ranked(asked, kind, narrow)
        study, _ = self._study(asked, kind)
        builder = SnippetBuilder(study.asked, self._highlighter(asked))
        shown = slice(offset, offset + k)
        page = tuple(
            self._show(row, score, kind, study, builder)
            for row, score in zip(rows[shown].tolist(), scores[shown].tolist(), strict=True)
        )
        met = dict.fromkeys(f"“{m.concept.shown}” goes with ${m.concept.latex}$" for m in study.meetings)
        notes = [*asked.notes, *islice(met, MOST_CONCEPTS)]
        hints = () if len(rows) else suggestions(asked, study, narrow)
        return Results(page, len(rows), time.perf_counter() - began, tuple(notes), hints)

    def rank(self, query: ReadQuery, kind: Kind = "answers", narrow: Filter = NO_FILTER) -> list[Hit]:
        """All hits of a query, best first; equal scores in the order that is the same everywhere."""
        scores, rows = self._ranked(query, kind, narrow)
        ids = self.searcher.ids(kind)[rows]
        return [Hit(number, score) for number, score in zip(ids.tolist(), scores.tolist(), strict=True)]

    def _ranked(self, query: ReadQuery, kind: Kind, narrow: Filter) -> tuple[Scores, Numbers]:
        """The scores of all hits, and their rows."""
        study, factors = self._study(query, kind)
        posts, table = self.searcher.posts, study.table
        allowed = narrow.mask(kind, posts) if narrow else None
        if allowed is not None:
            # A filter changes which posts are looked at, not what they score.
            threads = threads_of(allowed, kind, posts)
            table = self.searcher.table(study, self.searcher.candidates((study.asked, study.related), threads))
        scores, rows = table.matrix(kind) @ factors, table.rows(kind)
        kept = scores > 0 if allowed is None else (scores > 0) & allowed[rows]
        scores, rows = scores[kept], rows[kept]
        best = np.lexsort((self.searcher.ids(kind)[rows].astype(np.bytes_), scores))[::-1]
        return scores[best], rows[best]

    def formulas(self, latex: str, k: int = 10, mode: Mode = "similar", offset: int = 0) -> FormulaResults:
        """Distinct formulas like the one given, with the posts that use them."""
        latex = check_text(latex, "formulas", "latex", '"a^2+b^2=c^2"')
        k, offset = check_page(k, offset, "formulas")
        mode = check_choice(mode, "formulas", "mode", MODES)
        return formula_page(self.formula_searcher, self.collection, latex, k, mode, offset)

    def explain(self, query: str | Query, id: int) -> Explanation:
        """Why a post has its score for a query; the parts sum to the score."""
        asked = self.read(check_query(query, "explain"))
        post = self.collection.post(check_integer(id, "explain", "id", example=754))
        kind: Kind = "questions" if post.kind == "question" else "answers"
        study, factors = self._study(asked, kind)
        posts = self.searcher.posts
        row = next(iter(np.flatnonzero(self.searcher.ids(kind) == id).tolist()), -1)
        thread = row if kind == "questions" else int(posts.parents[row])
        table = self.searcher.table(study, np.array([thread]))
        features = table.matrix(kind)[table.rows(kind) == row].sum(0)
        if row < 0 or features @ factors <= 0:
            raise PorismError(f"post {id} is not among those found for this query", fix="porism search lists them")
        fields = [post.title, post.body] if kind == "questions" else [post.body]
        explainer = Explainer(self.searcher, study, factors, self._highlighter(asked))
        return explainer.explain(thread, None if kind == "questions" else row, fields, features)

    def ask(self, query: str | Query) -> Extract:
        """The best passage of at most 1,200 characters, with its source; in a model's words where an endpoint is set."""
        began = time.perf_counter()
        asked = self.read(check_query(query, "ask"))
        kind: Kind = "answers" if self._has_answers else "questions"
        hits = self.rank(asked, kind)
        study, _ = self._study(asked, kind)
        builder = SnippetBuilder(study.asked, self._highlighter(asked))
        found = best_passage(self.collection, hits, builder, asked.notes, began)
        if self.endpoint is None or not found.text:
            return found
        return generate_answer(self.endpoint, query if isinstance(query, str) else f"{query.title} {query.text}", found)

    def read(self, query: str | Query) -> ReadQuery:
        """A query as the engine sees it."""
        if isinstance(query, str):
            return read_query(query)
        return read_query(query.title or query.text, query.text if query.title else "", query.tags)

    def _study(self, query: ReadQuery, kind: Kind) -> tuple[Study, npt.NDArray[np.float32]]:
        """What is known of a query, and the factor by which each feature enters its scores."""
        key = (query, kind)
        with self._lock:
            if key in self._studies:
                self._studies.move_to_end(key)
                return self._studies[key]
        study = self.searcher.study(query, self.model.vector(kind))
        factors = self.model.vector(kind) / scales(study.table.matrix(kind), len(self.searcher.ids(kind)))
        with self._lock:
            self._studies[key] = (study, factors)
            while len(self._studies) > REMEMBERED:
                self._studies.popitem(last=False)
        return study, factors

    def _highlighter(self, query: ReadQuery) -> Highlighter:
        formulas = [formula.parsed for formula in query.formulas]
        return Highlighter(formulas, self.formula_searcher.store, MAX_HIGHLIGHTED_FORMULAS)

    def _show(self, row: int, score: float, kind: Kind, study: Study, builder: SnippetBuilder) -> SearchHit:
        """A hit with what a reader needs to decide whether to open it."""
        post = self.collection.post(int(self.searcher.ids(kind)[row]))
        question = post if post.kind == "question" else self.collection.post(post.thread_id)
        parts = self.searcher.posts.rows["thread" if kind == "questions" else "answer", "parts"]
        return SearchHit(
            post.id,
            score,
            post.kind,
            post.thread_id,
            builder.title(question.title),
            builder.snippet(post.body, formulas=has_any(parts, row, study.asked["parts"].codes)),
            question.tags,
            post.score,
            question.accepted_id == post.id,
            post.created,
        )
