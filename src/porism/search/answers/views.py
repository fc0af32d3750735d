"""The views in which terms of the query are scored, for questions and for answers."""

from __future__ import annotations

from collections.abc import Mapping

from porism.index.schema import THREAD, VIEWS, View

# An answer has a view of its own, so that in its thread the text of all answers counts less, and comments on them do not count.
_OTHER_FIELDS = {field: weight for field, weight in THREAD.weights if field != "answer_comments"}
QUESTION_VIEWS = VIEWS
ANSWER_VIEWS: Mapping[str, View] = {**VIEWS, "thread": View.of("thread", {**_OTHER_FIELDS, "answer": 0.5})}
