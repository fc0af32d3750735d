"""TU_DBS in Task 3: a local causal language model continues a question, with or without a hint from a retrieved answer.

Only names and scores of the runs are published. Prompt, hint and number of attempts are our reading of the names.
"""

from __future__ import annotations

import time
from dataclasses import replace

from porism.corpus.content import Content
from porism.models.causal import CausalGenerator, GenerationSettings
from porism.search.generation.answer_text import fit, fitting_text, join
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking
from porism.systems.answerer import Answerer, Cost, WrittenAnswer
from porism.systems.declared.context import SystemContext
from porism.systems.neural.chosen_models import chosen_model
from porism.systems.queries.topic_query import topic_of
from porism.systems.task3.posts import first_sentences, topic_texts

QUESTION, HINT, ANSWER = "Question: ", "\n\nHint: ", "\n\nAnswer:"
HINT_LENGTH = 300  # characters


def causal_answer(
    context: SystemContext,
    causal: str,
    hints: bool = False,
    sample: bool = False,
    temperature: float = 1.0,
    beams: int = 1,
    length_penalty: float = 1.0,
    tokens: int = 400,
    shortest_of: int = 1,
) -> Answerer:
    """Continue the question with a causal model. `hints` takes a hint from the first hit of the part before; `shortest_of` samples several answers."""
    chosen = chosen_model(causal, context.models)
    model = CausalGenerator(chosen.directory)
    settings = GenerationSettings(
        max_tokens=max(1, min(tokens, model.length // 2)),
        temperature=temperature if sample else 0.0,
        beams=beams,
        length_penalty=length_penalty,
    )
    made = CausalAnswerer(context.content, model, settings, hints, shortest_of)
    made.models = (chosen.use(f"causal, {settings.max_tokens} new tokens, {model.length} positions"),)
    return made


class CausalAnswerer(Answerer):
    """Answers with what a local causal model writes."""

    depth = 1

    def __init__(
        self,
        content: Content,
        model: CausalGenerator,
        settings: GenerationSettings,
        hints: bool,
        shortest_of: int,
    ) -> None:
        self._content, self._model, self._settings = content, model, settings
        self._hints, self._attempts = hints, max(1, shortest_of)

    def answer(self, query: ReadQuery, ranking: Ranking) -> WrittenAnswer:
        """Return the continuation, or the shortest of several, cut after a sentence."""
        began = time.perf_counter()
        prompt = self._prompt(query, ranking)
        cost, texts = Cost(), list[str]()
        for number in range(self._attempts):
            text = self._model.generate(prompt, replace(self._settings, seed=number))
            cost += Cost(1, self._model.count_tokens(prompt), self._model.count_tokens(text))
            texts.append(fitting_text(text.partition(QUESTION)[0].strip()))
        shortest = min(filter(None, texts), key=len, default="")
        return WrittenAnswer(shortest, self._model.directory.name, cost + Cost(seconds=time.perf_counter() - began))

    def _prompt(self, query: ReadQuery, ranking: Ranking) -> str:
        topic = topic_texts(topic_of(query))
        hint = ""
        if self._hints:
            for sentences in first_sentences(self._content, ranking).values():
                hint = HINT + join(fit(sentences, HINT_LENGTH))
        return f"{QUESTION}{topic.title}\n{topic.body}{hint}{ANSWER}"
