"""Measures as values that print as themselves and parse back: `nDCG'`, `P'@10`, `MAP'(rel=1)`, `judged@10`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from porism.errors import PorismError

Cut = Literal["never", "may", "must"]


@dataclass(frozen=True, slots=True)
class Family:
    """What the measures of one name have in common.

    `trec_eval` is trec_eval's name for it, `trec_eval_cut` the one with a cutoff. `cut` says whether a cutoff may or must be given.
    `graded` measures use the grades themselves; `prime` says whether the prime filter applies.
    """

    name: str
    trec_eval: str
    trec_eval_cut: str = ""
    cut: Cut = "never"
    graded: bool = False
    prime: bool = True


FAMILIES = {
    family.name: family
    for family in (
        Family("nDCG", "ndcg", "ndcg_cut", "may", graded=True),
        Family("MAP", "map", "map_cut", "may"),
        Family("P", "", "P", "must"),
        Family("recall", "", "recall", "must"),
        Family("success", "", "success", "must"),
        Family("RR", "recip_rank"),
        Family("Rprec", "Rprec"),
        Family("bpref", "bpref"),
        Family("infAP", "infAP"),
        Family("judged", "", "", "must", graded=True, prime=False),
    )
}
ALIASES = {
    "ap": "MAP",
    "r": "recall",
    "mrr": "RR",
    "ndcg": "nDCG",
    "map": "MAP",
    "p": "P",
    "rr": "RR",
    "infap": "infAP",
    "rprec": "Rprec",
    "judge": "judged",
}
PATTERN = re.compile(r"(?P<name>[A-Za-z]+)(?P<prime>['′’]?)(?:\((?:rel=)?(?P<rel>\d+)\))?(?:@(?P<cut>\d+))?$")
LEVEL = 2  # grades High and Medium are relevant


@dataclass(frozen=True, slots=True, order=True)
class Measure:
    """A measure. `prime` removes unjudged items first; `rel` is the lowest relevant grade; `cut` the cutoff, 0 for none.

    >>> print(Measure("P", prime=True, cut=10), parse("P'(rel=1)@10").rel)
    P'@10 1
    """

    name: str
    prime: bool = False
    rel: int = LEVEL
    cut: int = 0

    def __str__(self) -> str:
        level = "" if self.rel == LEVEL else f"(rel={self.rel})"
        return f"{self.name}{chr(39) if self.prime else ''}{level}{f'@{self.cut}' if self.cut else ''}"

    @property
    def family(self) -> Family:
        """What the measures of this name have in common."""
        return FAMILIES[self.name]

    @property
    def trec_eval(self) -> str:
        """The name in trec_eval's results (ndcg, ndcg_cut_10, P_10), or an empty string if trec_eval does not compute it."""
        family = self.family
        return f"{family.trec_eval_cut}_{self.cut}" if self.cut and family.trec_eval_cut else family.trec_eval


def parse(text: str) -> Measure:
    """Parse a measure. Names are those of FAMILIES; lower case and the aliases MRR, AP, R are understood."""
    found = PATTERN.match(text.strip())
    name = ALIASES.get(found["name"].lower(), found["name"]) if found else ""
    if found is None or name not in FAMILIES:
        raise PorismError(
            f"no measure {text!r}",
            fix=f"choose one of {', '.join(FAMILIES)}; for example nDCG', P'@10, MAP'(rel=1), judged@10",
        )
    family = FAMILIES[name]
    cut = int(found["cut"] or 0)
    rel = int(found["rel"]) if found["rel"] else LEVEL
    wrong = _refusal(family, bool(found["prime"]), found["rel"] is not None, rel, found["cut"] is not None, cut)
    if wrong:
        raise PorismError(f"{text}: {wrong}", fix="for example nDCG', P'@10, MAP'(rel=1), judged@10")
    return Measure(name, bool(found["prime"]), rel, cut)


def _refusal(family: Family, prime: bool, leveled: bool, rel: int, cutting: bool, cut: int) -> str:
    """Return why the family has no such measure, or an empty string."""
    if prime and not family.prime:
        return f"{family.name} counts unjudged items, so it has no prime form"
    if leveled and family.graded:
        return f"{family.name} uses the grades themselves, so it has no rel="
    if leveled and not 1 <= rel <= 3:
        return "rel= must be 1, 2 or 3"
    if cutting and (family.cut == "never" or cut < 1):
        return f"{family.name} has no cutoff" if family.cut == "never" else "a cutoff must be at least 1"
    if not cutting and family.cut == "must":
        return f"{family.name} needs a cutoff, for example {family.name}@10"
    return ""


def parse_all(texts: Iterable[str]) -> tuple[Measure, ...]:
    """Parse measures separated by spaces or commas; repeated ones are dropped."""
    words = [word for text in texts for word in re.split(r"[\s,]+", text) if word]
    return tuple(dict.fromkeys(parse(word) for word in words))


# The measures that the lab reports for Tasks 1 and 2, and the share of judged items among the first 10.
LAB = parse_all(["nDCG' MAP' P'@10 bpref judged@10"])
