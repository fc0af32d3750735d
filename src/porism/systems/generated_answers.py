"""Answers of Task 3 that a model writes: of an endpoint, or of a directory."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass, replace
from typing import Literal

from porism.errors import MissingModelError, PorismError
from porism.models.causal import CausalGenerator, GenerationSettings
from porism.search.generation import endpoint as service
from porism.search.generation.answer_text import MAX_LENGTH, fit, fitting_text, join
from porism.search.generation.endpoint import Api, Endpoint, EndpointError, Sampling, address
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking
from porism.systems.answerer import Answerer, Cost, WrittenAnswer
from porism.systems.declared.context import SystemContext
from porism.systems.extracts import first_sentences, topic_texts
from porism.systems.named_models import AppliedModel, chosen_model
from porism.systems.topic_queries import topic_of

ORIGINAL = "text-davinci-002"
ADDRESS_VARIABLE = "PORISM_ENDPOINT"
LONGEST_WAIT = 30.0  # seconds between two requests to a busy endpoint
START_OF_ANSWER = re.compile(r"^A:", re.MULTILINE)

PromptKind = Literal["overview", "script"]
PROMPTS: dict[PromptKind, str] = {
    "overview": "Q: {title}\n\n{body}\n\nA:",  # the overview paper
    "script": "Q: {title}\n\n{body}\n\n",  # the organisers' program, which cuts the answer at "A:" afterwards
}


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """Which endpoint writes: its address, its model, how it is asked, and how the model writes."""

    url: str = ""
    model: str = ORIGINAL
    api: Api = "completions"
    prompt: PromptKind = "overview"
    temperature: float = 0.7
    tokens: int = 570
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Retries:
    """How often an answer is requested, how long to wait for a busy endpoint, and what to do without success."""

    attempts: int = 20
    wait: float = 1.0
    otherwise: Literal["error", "cut"] = "error"


class EndpointAnswerer(Answerer):
    """Answers with what a language model at `url` or PORISM_ENDPOINT writes; PORISM_ENDPOINT_KEY may hold a key."""

    depth = 1

    def __init__(self, context: SystemContext, *, endpoint: EndpointOptions, attempts: Retries) -> None:
        url = endpoint.url or os.environ.get(ADDRESS_VARIABLE, "")
        if not url:
            fact = f"needs a language model that does not come with Porism: {ORIGINAL}, or another one as a substitute"
            settings = "--set endpoint_answer.url=http://127.0.0.1:8080/v1/completions --set endpoint_answer.model=NAME"
            raise MissingModelError(fact, fix=f"name an OpenAI-compatible endpoint: {settings}")
        self._options, self._attempts = endpoint, attempts
        self._endpoint = Endpoint(url, endpoint.model, os.environ.get(service.KEY_VARIABLE, ""), endpoint.seconds)
        self._sampling = Sampling(endpoint.tokens, endpoint.temperature)
        self._cut = 0
        role: Literal["original", "substitute"] = "original" if endpoint.model == ORIGINAL else "substitute"
        applied = f"{endpoint.api} at {address(url)}"
        self.models = (AppliedModel(ORIGINAL, ORIGINAL, endpoint.model, "", role, applied),)

    @property
    def notes(self) -> tuple[str, ...]:
        """How many answers were cut."""
        return (f"{self._cut} answers did not fit and were cut after a sentence",) if self._cut else ()

    def answer(self, query: ReadQuery, ranking: Ranking) -> WrittenAnswer:
        """Return the first attempt that ends by itself and fits."""
        prompt = PROMPTS[self._options.prompt].format_map(topic_texts(topic_of(query))._asdict())
        cost, tries = Cost(), list[str]()
        for _ in range(self._attempts.attempts):
            made = self._request(prompt)
            cost += Cost(1, made.prompt_tokens, made.completion_tokens, made.seconds)
            # The answer of a script follows the last `A:` at the start of a line.
            is_script = self._options.prompt == "script"
            text = (START_OF_ANSWER.split(made.text)[-1] if is_script else made.text).strip()
            if made.finished and 0 < len(text) <= MAX_LENGTH:
                written = fitting_text(text)
                if written:
                    return WrittenAnswer(written, self._endpoint.model, cost)
            tries.append(text)
        return self._without_success(tries, cost)

    def _request(self, prompt: str) -> service.ModelReply:
        """Send a request, and again after a while if the endpoint is busy."""
        for number in range(max(self._attempts.attempts, 1)):
            try:
                if self._options.api == "completions":
                    return self._endpoint.complete(prompt, self._sampling)
                return self._endpoint.chat((service.Message("user", prompt),), self._sampling)
            except EndpointError as error:
                if not error.may_pass or number + 1 >= self._attempts.attempts:
                    raise
                time.sleep(min(self._attempts.wait * 2**number, LONGEST_WAIT))
        raise AssertionError("a loop of at least one attempt returns or raises")

    def _without_success(self, tries: list[str], cost: Cost) -> WrittenAnswer:
        shortest = min(filter(None, tries), key=len, default="")
        if self._attempts.otherwise == "cut" and shortest:
            self._cut += 1
            return WrittenAnswer(fitting_text(shortest), self._endpoint.model, cost)
        fact = f"the shortest has {len(shortest):,} characters" if shortest else "all are empty"
        raise PorismError(
            f"none of {len(tries)} answers ended by itself within {MAX_LENGTH:,} characters; {fact}",
            where=f"the endpoint {address(self._endpoint.url)}",
            fix="allow more attempts, or cut after a sentence: --set endpoint_answer.otherwise=cut",
        )


QUESTION, HINT, ANSWER = "Question: ", "\n\nHint: ", "\n\nAnswer:"
HINT_LENGTH = 300  # characters


@dataclass(frozen=True, slots=True)
class CausalOptions:
    """How a causal model writes."""

    sample: bool = False
    temperature: float = 1.0
    beams: int = 1
    length_penalty: float = 1.0
    tokens: int = 400


class CausalAnswerer(Answerer):
    """Continues the question with a causal model. `hints` takes a hint from the first hit of the part before;
    `shortest_of` samples several answers."""

    depth = 1

    def __init__(
        self, context: SystemContext, causal: str, hints: bool = False, *, writing: CausalOptions, shortest_of: int = 1
    ) -> None:
        chosen = chosen_model(causal, context.models)
        self._model = CausalGenerator(chosen.directory)
        self._settings = GenerationSettings(
            max_tokens=max(1, min(writing.tokens, self._model.length // 2)),
            temperature=writing.temperature if writing.sample else 0.0,
            beams=writing.beams,
            length_penalty=writing.length_penalty,
        )
        self._hints, self._attempts = context.content if hints else None, max(1, shortest_of)
        applied = f"causal, {self._settings.max_tokens} new tokens, {self._model.length} positions"
        self.models = (chosen.use(applied),)

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
            for sentences in first_sentences(self._hints, ranking).values():
                hint = HINT + join(fit(sentences, HINT_LENGTH))
        return f"{QUESTION}{topic.title}\n{topic.body}{hint}{ANSWER}"
