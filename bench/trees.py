"""Formula search over trees from LaTeX and over trees from the MathML that came with the formulas (`porism build --trees`)."""

from __future__ import annotations

from pathlib import Path

from bench._judged import FORMULA_SETS, SOURCES, folder, formula_topics, missing, scores, write_formula_run
from porism.corpus.build.options import Options, Trees
from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.corpus.store.collection import Collection
from porism.index.formulas.build import build_formula_index
from porism.search.formulas.searcher import FormulaSearcher

K = 1000
TESTS = ("pool", "t2-2021")
KINDS: tuple[Trees, ...] = ("latex", "official")


def searcher(name: str, trees: Trees) -> FormulaSearcher:
    """The formulas of a collection, with trees of one kind."""
    place = folder() / f"{name}-{trees}.formulas"
    if not place.exists():
        sources = [open_source(path) for path in SOURCES[name]]
        made = build(sources, place.with_suffix(".collection"), Options(trees=trees))
        with Collection.open(made) as opened:
            build_formula_index(opened, place)
    return FormulaSearcher.open(place)


def write_runs(trees: Trees) -> Path:
    """A run of the default engine for each test; the folder that holds them."""
    runs = folder() / f"runs-{trees}"
    for test in TESTS:
        found = searcher(FORMULA_SETS[test], trees)
        hits = (
            (topic, [(hit.visual_id, hit.score) for hit in found.search(latex, K)])
            for topic, latex in formula_topics(test).items()
        )
        write_formula_run(runs / f"{test}.tsv", hits)
    return runs


def main() -> None:
    """Print the measures of both."""
    if missing("trees"):
        return
    for trees in KINDS:
        print(f"trees from {trees} (nDCG' MAP' P'@10; MAP with unjudged = 0 for t2-2021)\n{scores(write_runs(trees))}")


if __name__ == "__main__":
    main()
