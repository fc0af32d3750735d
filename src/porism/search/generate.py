"""An answer in the words of a language model, where an endpoint is configured: it is shown the passage found, and marked as generated.

The endpoint speaks the common chat-completions form: POST {model, messages, max_tokens}, answered by choices[0].message.content.
"""

from __future__ import annotations

import json
import time
import urllib.request
from dataclasses import dataclass, replace

from porism.search.ask import LIMIT, as_text
from porism.search.display.results import Extract, Segment
from porism.search.query import parts

INSTRUCTION = (
    "Answer the question in mathematics with the help of the passage, in at most 1,000 characters. "
    "Write formulas in LaTeX between dollar signs. Say so if the passage does not answer it."
)
MAX_TOKENS = 570  # as the lab's own generated baseline
MAX_REPLY = 1_000_000  # bytes that are read of a reply


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model answers; the key is sent as a bearer token and never shown."""

    url: str
    model: str
    key: str = ""
    seconds: float = 8.0

    def complete(self, question: str, passage: str) -> str:
        """The model's words; any failure is an OSError or ValueError."""
        asked = f"Question: {question}\n\nPassage: {passage}"
        messages = [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": asked}]
        body = json.dumps({"model": self.model, "messages": messages, "max_tokens": MAX_TOKENS}).encode()
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        request = urllib.request.Request(self.url, data=body, headers=headers, method="POST")
        with urllib.request.urlopen(request, timeout=self.seconds) as reply:
            found = json.loads(reply.read(MAX_REPLY))
        try:
            text = str(found["choices"][0]["message"]["content"]).strip()
        except (KeyError, IndexError, TypeError):
            text = ""
        if not text:
            raise ValueError("the reply has no text at choices[0].message.content")
        return text


def generated(endpoint: Endpoint, question: str, found: Extract) -> Extract:
    """The passage put into the model's words; the passage itself where the model does not answer."""
    began = time.perf_counter()
    try:
        text = endpoint.complete(question, found.text)
    except (OSError, ValueError) as error:
        note = f"the model did not answer ({error}); the best passage is shown"
        return replace(found, notes=(*found.notes, note))
    shown = shortened(tuple(Segment(part.kind, part.source) for part in parts(text)))
    seconds = found.seconds + time.perf_counter() - began
    return Extract(as_text(shown), shown, found.sources, seconds, True, found.notes)


def shortened(pieces: tuple[Segment, ...]) -> tuple[Segment, ...]:
    """The longest beginning within the limit of characters; a formula is kept whole or left out."""
    kept: list[Segment] = []
    for piece in pieces:
        room = LIMIT - len(as_text(kept)) - 1
        if piece.kind == "text" and room > 0:
            kept.append(replace(piece, text=piece.text[:room]))
        elif len(piece.text) + 2 <= room:
            kept.append(piece)
        if len(as_text(kept)) >= LIMIT - 1 or (piece.kind == "formula" and kept[-1:] != [piece]):
            break
    return tuple(kept)
