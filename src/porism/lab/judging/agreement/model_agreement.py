"""How well a language model agrees with people, grade by grade."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from porism.lab.judging.agreement.coefficients import alpha, kappa, weighted_kappa
from porism.lab.judging.agreement.pairs import InstanceId
from porism.lab.judging.assessments import Assessment
from porism.lab.judging.people.models import is_model
from porism.lab.judging.results.qrels import main_judgments
from porism.lab.judging.scale import RELEVANT, grades


@dataclass(frozen=True, slots=True)
class GradeAgreement:
    """The items to which people gave one grade: how often the model gave each grade, best first, and no grade (`ungraded`).

    `share` is the share of the same grade, `kappa` is that of this grade against all others.
    """

    code: int
    name: str
    items: int
    by_model: tuple[int, ...]
    ungraded: int
    share: float | None
    kappa: float | None


@dataclass(frozen=True, slots=True)
class ModelAgreement:
    """Agreement of a model with the main judgments of people; coefficients are on items that both graded 0 to 3."""

    model: str
    items: int
    ungraded: int
    kappa: float | None
    kappa_hm: float | None
    kappa_weighted: float | None
    alpha: float | None
    grades: tuple[GradeAgreement, ...]


def model_agreements(assessments: Iterable[Assessment]) -> list[ModelAgreement]:
    """Return the agreement of every model that judged an item which a person judged, too."""
    given = list(assessments)
    people = {_key(one): one.grade for one in main_judgments(given)}
    found = []
    for model in sorted({one.assessor for one in given if is_model(one.assessor)}):
        own = {_key(one): one.grade for one in given if one.assessor == model and one.purpose == "dual"}
        pairs = [(people[key], own[key]) for key in sorted(own.keys() & people.keys())]
        if pairs:
            found.append(_agreement(model, pairs))
    return found


def _key(given: Assessment) -> InstanceId:
    return InstanceId(given.topic, given.item, given.instance)


def _agreement(model: str, pairs: list[tuple[int, int]]) -> ModelAgreement:
    graded = [pair for pair in pairs if max(pair) <= 3]
    binary = [(a >= RELEVANT, b >= RELEVANT) for a, b in graded]
    rows = tuple(_row(step.code, step.name, pairs, graded) for step in grades() if step.graded)
    coefficients = (kappa(graded), kappa(binary), weighted_kappa(graded), alpha(graded))
    return ModelAgreement(model, len(graded), len(pairs) - len(graded), *coefficients, rows)


def _row(code: int, name: str, pairs: list[tuple[int, int]], graded: list[tuple[int, int]]) -> GradeAgreement:
    answers = [second for first, second in pairs if first == code]
    by_model = tuple(answers.count(step.code) for step in grades() if step.graded)
    counted = sum(by_model)
    share = answers.count(code) / counted if counted else None
    one_grade = kappa([(first == code, second == code) for first, second in graded]) if counted else None
    return GradeAgreement(code, name, len(answers), by_model, len(answers) - counted, share, one_grade)
