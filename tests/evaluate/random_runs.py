"""Random qrels and runs with ties, holes, missing topics and unjudged hits."""

from __future__ import annotations

import random

from porism.evaluate.qrels import Qrels
from porism.evaluate.runs.run import Run, RunRanking


def random_case(seed: int, topics: int = 12, items: int = 60) -> tuple[Qrels, Run]:
    chance = random.Random(seed)
    names = [f"A.{number}" for number in range(1, topics + 1)]
    docs = [str(number) for number in chance.sample(range(10**6), items)]
    qrels: Qrels = {}
    rankings: dict[str, RunRanking] = {}
    for name in names:
        judged = chance.sample(docs, chance.randint(3, items // 2))
        qrels[name] = {doc: chance.choice([0, 0, 0, 1, 2, 3]) for doc in judged}
        if chance.random() < 0.2:
            continue  # a topic that the run misses
        found = chance.sample(docs, chance.randint(1, items))
        rankings[name] = RunRanking(found, [round(chance.random() * 8) / 4 for _ in found])  # coarse scores: many ties
    rankings["A.999"] = RunRanking(["1"], [1.0])  # a topic without judgments
    return qrels, Run("random", "trec", rankings, "random")
