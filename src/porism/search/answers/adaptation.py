"""What a collection taught its index about ranking: factors for groups of weights, chosen by `porism.search.learning.teaching`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

# The groups of features of questions, by the start of their names, that one factor raises or lowers.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "titles": ("title.words", "title.pairs", "title.tuples", "title.paths", "title.parts"),
    "feedback": ("feedback.",),
    "encoder": ("encoder.",),
}


@dataclass(frozen=True, slots=True)
class Adaptation:
    """Factors of groups of weights (none: the defaults), the gain in mean reciprocal rank on queries of the collection that did not choose
    them, its standard error, and the number of these queries."""

    factors: Mapping[str, float] = field(default_factory=dict)
    gain: float = 0.0
    error: float = 0.0
    queries: int = 0

    @classmethod
    def parse(cls, text: str) -> Adaptation:
        """Return the choice that an index recorded; the defaults for an empty text."""
        return cls(**json.loads(text)) if text else cls()

    def as_text(self) -> str:
        """Return the choice as an index records it."""
        return json.dumps(asdict(self), sort_keys=True)

    def adapted(self, weights: Mapping[str, float]) -> Mapping[str, float]:
        """Return weights of questions by feature, multiplied by the factors of their groups."""
        return {name: weight * self._factor(name) for name, weight in weights.items()}

    def _factor(self, feature: str) -> float:
        return next((factor for group, factor in self.factors.items() if feature.startswith(GROUPS[group])), 1.0)

    def __str__(self) -> str:
        """Say what was chosen, and how sure it is."""
        if not self.queries:
            return "default weights"
        gain = f"{self.gain:+.3f} ± {self.error:.3f} MRR on {self.queries} queries of the collection"
        if not self.factors:
            return f"default weights (no other ones are surely better: {gain})"
        return ", ".join(f"{group} x {factor:g}" for group, factor in self.factors.items()) + f" ({gain})"
