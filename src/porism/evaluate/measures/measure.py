"""Measures as values that print as themselves: `nDCG'`, `P'@10`, `MAP'(rel=1)`, `judged@10`, `SetF(beta=0.5)`.

They are those of ir_measures. A few have the names that the lab gives them, and each has a prime form. Where
ir_measures counts every grade from 1 up as relevant, a measure without `rel=` counts grades from 2 up, as the lab does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import ir_measures

from porism.errors import PorismError

# The lab's names, and those of ir_measures. Case does not matter for either.
NAMES = {
    "nDCG": "nDCG", "MAP": "AP", "P": "P", "recall": "R", "success": "Success",
    "RR": "RR", "Rprec": "Rprec", "bpref": "Bpref", "infAP": "infAP", "judged": "Judged",
}  # fmt: skip
ALIASES = {name.lower(): name for name in ir_measures.measures.registry}
ALIASES |= {name.lower(): lab for lab, theirs in NAMES.items() for name in (lab, theirs)}
ALIASES |= {"mrr": "RR", "judge": "judged"}
PATTERN = re.compile(r"(?P<name>\w+)(?P<prime>['′’]?)(?P<rest>(?:\(.*\))?(?:@[\w.]+)?)$")
WORD = re.compile(r"(?:[^\s,()]|\([^()]*\)|[()])++")  # a measure, with its parameters in brackets
LEVEL = 2  # grades High and Medium are relevant
EXAMPLES = "for example nDCG', P'@10, MAP'(rel=1), judged@10"


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure. `base` is that of ir_measures, with all parameters; `prime` removes unjudged items first.

    >>> print(parse("P'(rel=2)@10"), parse("P'(rel=1)@10").least_relevant)
    P'@10 1
    """

    text: str
    base: Any = field(compare=False, repr=False)
    prime: bool = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.text

    @property
    def least_relevant(self) -> int:
        """The lowest grade that counts as relevant; 1 for a measure that uses the grades themselves."""
        return int(self.base.params.get("rel", 1))


def parse(text: str) -> Measure:
    """Parse a measure."""
    found = PATTERN.match(text.strip())
    name = ALIASES.get(found["name"].lower(), "") if found else ""
    try:
        rest = re.sub(r"^\((\d+)\)", r"(rel=\1)", found["rest"] if found else "")
        base = ir_measures.parse_measure(f"{NAMES.get(name, name)}{rest}")
    except (ValueError, NameError):
        fix = f"choose one of {', '.join(NAMES)}, or of ir_measures; {EXAMPLES}"
        raise PorismError(f"unknown measure {text!r}", fix=fix) from None
    if _default(base, "rel") == LEVEL and "rel" not in base.params:
        base = base(rel=LEVEL)
    prime = bool(found and found["prime"])
    if wrong := _why_invalid(name, base, prime):
        raise PorismError(f"{text}: {wrong}", fix=EXAMPLES)
    shown = [f"{key}={value!r}" for key, value in base.params.items() if value != _default(base, key)]
    shown = [one for one in shown if not one.startswith(f"{base.AT_PARAM}=")]
    options = f"({','.join(shown)})" if shown else ""
    cutoff = f"@{base.params[base.AT_PARAM]}" if base.AT_PARAM in base.params else ""
    return Measure(f"{name}{chr(39) if prime else ''}{options}{cutoff}", base, prime)


def _default(base: Any, parameter: str) -> Any:
    """Return the value of a parameter that is not written."""
    known = base.SUPPORTED_PARAMS.get(parameter)
    default = known.default if known else None
    return LEVEL if parameter == "rel" and default == 1 else default


def _why_invalid(name: str, base: Any, prime: bool) -> str:
    """Return why there is no such measure, or an empty string."""
    known, given = base.SUPPORTED_PARAMS, base.params
    if prime and base.NAME == "Judged":
        return f"{name} counts unjudged items, so it has no prime form"
    for parameter in given:
        if parameter not in known:
            return f"{name} has no {parameter}"
        if not known[parameter].validate(given[parameter]):
            return f"{name} has no {parameter}={given[parameter]!r}"
    for parameter in known:
        if known[parameter].required and parameter not in given:
            written = f"{name}@10" if parameter == base.AT_PARAM else f"{name}({parameter}=3)"
            return f"{name} needs a {parameter}, for example {written}"
    if not 1 <= given.get("rel", 1) <= 3:
        return "rel= must be 1, 2 or 3"
    return "a cutoff must be at least 1" if given.get("cutoff", 1) < 1 else ""


def parse_all(texts: Iterable[str]) -> tuple[Measure, ...]:
    """Parse measures separated by spaces or commas; repeated ones are dropped."""
    words = [word for text in texts for word in WORD.findall(text)]
    return tuple(dict.fromkeys(parse(word) for word in words))


# The measures that the lab reports for Tasks 1 and 2, and the share of judged items among the first 10.
LAB = parse_all(["nDCG' MAP' P'@10 bpref judged@10"])
