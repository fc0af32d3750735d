"""Formula search over trees parsed from LaTeX and over trees from the MathML of the collection (`porism build
--trees`)."""

from __future__ import annotations

from pathlib import Path

from bench._judged import FORMULA_SETS, SOURCES, folder, is_missing, scores, write_formula_run
from porism.corpus.build.pipeline import build
from porism.corpus.build.select import Options, TreesFrom
from porism.corpus.sources.detect import open_source
from porism.search.formulas.searcher import FormulaSearcher
from porism.store import open_content, open_store
from porism.store.maintenance import build_index

TESTS = ("pool", "t2-2021")
KINDS: tuple[TreesFrom, ...] = ("latex", "official")


def built_collection(name: str, trees: TreesFrom) -> Path:
    """Return the collection of SOURCES with trees of one kind; build it if needed."""
    path = folder() / f"{name}-{trees}.collection"
    if not path.exists():
        build([open_source(source) for source in SOURCES[name]], path, Options(trees=trees))
    return path


def write_runs(trees: TreesFrom) -> Path:
    """Write a run of the default engine for each test; return the folder of the runs."""
    runs = folder() / f"runs-{trees}"
    for test in TESTS:
        name = FORMULA_SETS[test]
        index = folder() / f"{name}-{trees}.index"
        content = open_content(built_collection(name, trees))
        if not index.exists():
            build_index(content, index)
        searcher = FormulaSearcher(open_store(index).snapshot())
        write_formula_run(runs / f"{test}.tsv", searcher, content, test)
    return runs


def main() -> None:
    """Print the measures of both kinds of trees."""
    if is_missing("trees"):
        return
    for trees in KINDS:
        print(f"trees from {trees} (nDCG' MAP' P'@10; MAP with unjudged = 0 for t2-2021)\n{scores(write_runs(trees))}")


if __name__ == "__main__":
    main()
