"""A measure is a value that prints as itself and parses back: `nDCG'`, `P'@10`, `MAP'(rel=1)`, `judged@10`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from porism.errors import PorismError

Cut = Literal["never", "may", "must"]


@dataclass(frozen=True, slots=True)
class Family:
    """What measures of one name have in common; `engine` is trec_eval's name for it, and that for a cutoff."""

    name: str
    engine: str
    engine_cut: str = ""
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
OTHER_NAMES = {
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
LEVEL = 2  # High and Medium are relevant


@dataclass(frozen=True, slots=True, order=True)
class Measure:
    """A measure. `prime` is a filter (only judged items stay in the list); `rel` is the lowest relevant grade; `cut` the depth, 0 for none.

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
        """The measures of the same name."""
        return FAMILIES[self.name]

    @property
    def engine(self) -> str:
        """trec_eval's name, as its results are keyed: ndcg, ndcg_cut_10, P_10; nothing for what it does not compute."""
        return f"{self.family.engine_cut}_{self.cut}" if self.cut and self.family.engine_cut else self.family.engine


def parse(text: str) -> Measure:
    """The measure that prints so. Names are those of FAMILIES (small letters and MRR, AP, R are understood)."""
    found = PATTERN.match(text.strip())
    name = OTHER_NAMES.get(found["name"].lower(), found["name"]) if found else ""
    if found is None or name not in FAMILIES:
        raise PorismError(
            f"no measure {text!r}",
            fix=f"choose among {', '.join(FAMILIES)}; for example nDCG', P'@10, MAP'(rel=1), judged@10",
        )
    family = FAMILIES[name]
    cut = int(found["cut"] or 0)
    rel = int(found["rel"]) if found["rel"] else LEVEL
    wrong = refusal(family, bool(found["prime"]), found["rel"] is not None, rel, found["cut"] is not None, cut)
    if wrong:
        raise PorismError(f"{text}: {wrong}", fix="for example nDCG', P'@10, MAP'(rel=1), judged@10")
    return Measure(name, bool(found["prime"]), rel, cut)


def refusal(family: Family, prime: bool, leveled: bool, rel: int, cutting: bool, cut: int) -> str:
    """Why a measure of the family cannot be so; nothing if it can."""
    if prime and not family.prime:
        return f"{family.name} counts unjudged items, so it has no prime form"
    if leveled and family.graded:
        return f"{family.name} uses the grades themselves, so it has no rel="
    if leveled and not 1 <= rel <= 3:
        return "rel= is 1, 2 or 3"
    if cutting and (family.cut == "never" or cut < 1):
        return f"{family.name} has no cutoff" if family.cut == "never" else "a cutoff is at least 1"
    if not cutting and family.cut == "must":
        return f"{family.name} needs a cutoff, as {family.name}@10"
    return ""


def parse_all(texts: Iterable[str]) -> tuple[Measure, ...]:
    """Measures of a list, blanks and commas between them, each once."""
    words = [word for text in texts for word in re.split(r"[\s,]+", text) if word]
    return tuple(dict.fromkeys(parse(word) for word in words))


# What the lab reports for Tasks 1 and 2, and the share of the top 10 that was judged.
LAB = parse_all(["nDCG' MAP' P'@10 bpref judged@10"])
