"""The views in which terms of the query are scored: for answers, for questions with answers, and for documents."""

from __future__ import annotations

from collections.abc import Mapping

from porism.analysis.schema import DOCUMENT, THREAD, VIEWS, View

# An answer has a view of its own, so that in its thread the text of all answers counts less, and comments on them do not count.
_OTHER_FIELDS = {field: weight for field, weight in THREAD.weights if field != "answer_comments"}
QUESTION_VIEWS: Mapping[str, View] = {name: view for name, view in VIEWS.items() if name != "headings"}
DOCUMENT_VIEWS: Mapping[str, View] = {**VIEWS, "thread": DOCUMENT}
ANSWER_VIEWS: Mapping[str, View] = {**QUESTION_VIEWS, "thread": View.of("thread", {**_OTHER_FIELDS, "answer": 0.5})}
