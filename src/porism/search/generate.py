"""Answers written by a language model, where an endpoint is configured: the model reads the best passage, and its answer is marked as generated.

The endpoint follows the common chat-completions protocol: POST {model, messages, max_tokens}, with the answer in
choices[0].message.content.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace

from porism.search.ask import MAX_LENGTH, as_text
from porism.search.display.results import Extract, HighlightedSegment
from porism.search.reading.parts import split_query

INSTRUCTION = (
    "Answer the question in mathematics with the help of the passage, in at most 1,000 characters. "
    "Write formulas in LaTeX between dollar signs. Say so if the passage does not answer it."
)
MAX_TOKENS = 570  # as in the lab's own generated baseline
MAX_REPLY = 1_000_000  # bytes read from a reply


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address of a language model; the key is sent as a bearer token and never shown."""

    url: str
    model: str
    key: str = ""
    seconds: float = 8.0

    def complete(self, question: str, passage: str) -> str:
        """Return the model's answer; every failure is an OSError or a ValueError."""
        prompt = f"Question: {question}\n\nPassage: {passage}"
        messages = [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": prompt}]
        body = json.dumps({"model": self.model, "messages": messages, "max_tokens": MAX_TOKENS}).encode()
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        import urllib.request  # slow to import, and most searches generate nothing

        request = urllib.request.Request(self.url, data=body, headers=headers, method="POST")
        with urllib.request.urlopen(request, timeout=self.seconds) as response:
            reply = json.loads(response.read(MAX_REPLY))
        try:
            text = str(reply["choices"][0]["message"]["content"]).strip()
        except (KeyError, IndexError, TypeError):
            text = ""
        if not text:
            raise ValueError("the reply has no text at choices[0].message.content")
        return text


def generate_answer(endpoint: Endpoint, question: str, passage: Extract) -> Extract:
    """Return the model's answer to a question, given the best passage; the passage itself if the model does not answer."""
    began = time.perf_counter()
    try:
        text = endpoint.complete(question, passage.text)
    except (OSError, ValueError) as error:
        note = f"the language model did not answer ({error}), so this is the best passage"
        return replace(passage, notes=(*passage.notes, note))
    segments = truncate(tuple(HighlightedSegment(part.kind, part.source) for part in split_query(text, typed=False)))
    seconds = passage.seconds + time.perf_counter() - began
    return Extract(as_text(segments), segments, passage.sources, seconds, True, passage.notes)


def truncate(segments: tuple[HighlightedSegment, ...]) -> tuple[HighlightedSegment, ...]:
    """Return the longest beginning of at most MAX_LENGTH characters; formulas are kept whole or left out."""
    kept: list[HighlightedSegment] = []
    for segment in segments:
        space = MAX_LENGTH - len(as_text(kept)) - 1
        if segment.kind == "text" and space > 0:
            kept.append(replace(segment, text=segment.text[:space]))
        elif len(segment.text) + 2 <= space:
            kept.append(segment)
        if len(as_text(kept)) >= MAX_LENGTH - 1 or (segment.kind == "formula" and kept[-1:] != [segment]):
            break
    return tuple(kept)
