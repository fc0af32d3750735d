"""Accounts of language models. Their names begin with `model.`, so that every page, event and export labels them.

A model gives second opinions and judges training items. Its judgments never become qrels and never count as agreement of people.
"""

from __future__ import annotations

from collections.abc import Iterable

from porism.errors import PorismError
from porism.lab.judging.assessments import Assessment

MODEL_PREFIX = "model."
PURPOSES = ("dual", "training")  # what a model may be assigned


def is_model(assessor: str) -> bool:
    """Return whether an account belongs to a language model."""
    return assessor.startswith(MODEL_PREFIX)


def of_people(assessments: Iterable[Assessment]) -> list[Assessment]:
    """Return the judgments that people made."""
    return [given for given in assessments if not is_model(given.assessor)]


def check_purpose(assessor: str, purpose: str) -> None:
    """Refuse to assign a model anything that becomes qrels or is meant for people."""
    if is_model(assessor) and purpose not in PURPOSES:
        raise PorismError(
            f"{assessor} is a model, whose judgments never become qrels",
            fix=f"assign a second opinion: porism lab assess dual JOURNAL {assessor} TOPIC",
        )
