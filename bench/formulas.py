"""Formulas: how many are parsed completely, agreement with LaTeXML and with the official visual ids, speed.

python -m bench formulas needs the real data; PORISM_SHARED names its folder.
PORISM_BENCH_PYA0 names a Python that has pya0 0.3.7, to compare the speed of its parser.
"""

from __future__ import annotations

import contextlib
import csv
import gc
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from bench._data import DATA
from bench._visual_ids import visual_ids
from porism.formula import Parsed, parse, parse_mathml, tangent, tree
from porism.formula.latex.macros import Macros, definitions

# Formulas in the LaTeX of an entry: between dollars or brackets, or in a display environment.
IN_TEXT = re.compile(
    r"(?<!\\)\$\$(.+?)(?<!\\)\$\$|(?<!\\)\$(.+?)(?<!\\)\$|\\\[(.+?)\\\]|\\\((.+?)\\\)"
    r"|(\\begin\{(equation\*?|align\*?|eqnarray\*?|gather\*?|displaymath|multline\*?)\}.+?\\end\{\6\})",
    re.DOTALL,
)


class Row(NamedTuple):
    """A formula of the slice: its id, LaTeX, official visual id, and LaTeXML's Presentation MathML."""

    id: str
    latex: str
    visual: str
    slt: str


def slice_rows() -> list[Row]:
    slt = dict(line.rstrip("\n").split("\t", 1) for line in _lines("slice/slt.tsv"))
    rows = (line.rstrip("\n").split("\t") for line in _lines("slice/formulas.tsv"))
    return [Row(row[0], row[5], row[4], slt.get(row[0], "")) for row in rows if row[0] != "id"]


def _lines(name: str) -> Iterator[str]:
    with open(DATA / name, encoding="utf-8", newline="\n") as file:
        yield from file


def topic_formulas() -> Iterator[tuple[str, str]]:
    """Yield LaTeX and LaTeXML's MathML of every topic formula of 2020 and 2021."""
    csv.field_size_limit(10**9)
    folder = DATA / "arqmath-format" / "topic-formulas"
    for year in ("2020", "2021"):
        tables = []
        for kind in ("latex", "slt"):
            with open(folder / f"{year}_formulas_{kind}.tsv", encoding="utf-8", newline="") as file:
                tables.append({row[0]: row[-1] for row in csv.reader(file, delimiter="\t") if row[0] != "id"})
        yield from ((latex, tables[1].get(number, "")) for number, latex in tables[0].items())


def planetmath() -> Iterator[tuple[str, Macros | None]]:
    for line in _lines("planetmath/entries.jsonl"):
        body = json.loads(line)["body"]
        macros = definitions(body) or None
        for found in IN_TEXT.finditer(body):
            yield next(group for group in found.groups() if group), macros


def is_complete(parsed: Parsed) -> bool:
    """Return whether no part of the layout tree is opaque."""
    return not any(node.label[:2] == "E!" for node in parsed.layout.walk())


def coverage(name: str, formulas: Iterable[tuple[str, Macros | None]]) -> None:
    count, layouts, operators, unknown = 0, 0, 0, 0
    paths: Counter[str] = Counter()
    causes: Counter[str] = Counter()
    repairs: Counter[str] = Counter()
    for latex, macros in formulas:
        parsed = parse(latex, macros=macros)
        count += 1
        paths[parsed.path] += 1
        repairs.update(parsed.repairs)
        whole = is_complete(parsed)
        layouts += whole
        operators += whole and not any(node.label[:2] == "E!" for node in parsed.operators.walk())
        unknown += any(problem.message.startswith("unknown command") for problem in parsed.problems)
        if parsed.path != "math-core":
            causes[parsed.problems[-1].message if parsed.problems else "?"] += 1
    print(
        f"{name:22} {count:7,}  layout {layouts / count:8.3%}  operators {operators / count:8.3%}  with unknown commands {unknown:,}"
    )
    print(f"{'':22} paths {dict(paths)}")
    print(f"{'':22} repairs {dict(repairs.most_common(12))}")
    if causes:
        print(f"{'':22} not by math-core, most frequent causes: {causes.most_common(6)}")


def agreement(name: str, pairs: Iterable[tuple[str, str]]) -> None:
    """Print how often the layout tree from our conversion equals the layout tree from LaTeXML's MathML."""
    same: Counter[bool] = Counter()
    without_errors: Counter[bool] = Counter()
    for latex, slt in pairs:
        if not slt.lstrip().startswith("<"):
            continue
        equal = tangent(parse(latex).layout) == tangent(parse_mathml(slt).layout)
        same[equal] += 1
        if "<merror" not in slt:
            without_errors[equal] += 1
    print(f"{name:22} {_share(same)}; without those that LaTeXML marked merror {_share(without_errors)}")


def _share(counts: Counter[bool]) -> str:
    return f"{counts[True] / max(counts.total(), 1):.2%} of {counts.total():,}"


BATCH = 500  # formulas at a time, as an index is built


Step = Callable[[list[str]], object]


def print_rate(name: str, formulas: list[str], step: Step) -> None:
    """Measure a step over all formulas on one core and print the rate. Results are dropped, as in a build."""
    print_line(name, (len(formulas) - BATCH) / seconds_of_pass(formulas, step))


def seconds_of_pass(formulas: list[str], step: Step) -> float:
    """Return the processor seconds of one pass over distinct formulas, without the first batch, which fills caches."""
    step(formulas[:BATCH])
    gc.collect()
    gc.disable()
    start = time.process_time()
    for at in range(BATCH, len(formulas), BATCH):
        step(formulas[at : at + BATCH])
    gc.enable()
    return time.process_time() - start


def parse_and_analyse(batch: list[str]) -> list[Parsed]:
    """Compute everything that an index needs of formulas."""
    from porism.analysis.features import features_of_many

    parsed = [parse(latex) for latex in batch]
    features_of_many([(one.layout, one.operators) for one in parsed])
    return parsed


def best_of_new_processes(formulas: list[str], step: Step) -> float:
    """Return the least of three `seconds_of_pass`, each in a new process without caches. Other load on shared hardware
    makes a pass up to half as slow again."""
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawned, max_tasks_per_child=1) as pool:
        return min(pool.submit(seconds_of_pass, formulas, step).result() for _ in range(3))


def print_line(name: str, per_second: float) -> None:
    """Print a line of the table."""
    print(f"{name:62} {per_second:10,.1f} per second {1e6 / per_second:12,.1f} µs each")


def speeds(formulas: list[str]) -> None:
    from latex2mathml.converter import convert

    from porism.formula.binary import pack, unpack_operators
    from porism.formula.canonical.forms import canonical
    from porism.formula.latex.convert import to_mathml

    def convert_batch(batch: list[str]) -> None:
        for latex in batch:
            with contextlib.suppress(Exception):
                convert(latex)

    compiled = "not compiled" if str(tree.__file__).endswith(".py") else "compiled"
    print(f"the formula package is {compiled}; load {os.getloadavg()[0]:.1f}")
    seconds = best_of_new_processes(formulas, parse_and_analyse)
    print_line("LaTeX to trees, canonical forms and all features of the index", (len(formulas) - BATCH) / seconds)
    print_rate(
        "  to MathML alone (repairs and fallback included)", formulas, lambda batch: [to_mathml(one) for one in batch]
    )
    print_rate("  to MathML and layout tree", formulas, lambda batch: [parse(one) for one in batch])
    print_rate("  to MathML, layout and operator tree", formulas, lambda batch: [parse(one).operators for one in batch])
    print_rate(
        "  all, and the renamed canonical tree as a tree",
        formulas,
        lambda batch: [canonical(one.operators, "renamed") for one in parse_and_analyse(batch)],
    )
    packed = [pack(parse(latex)) for latex in formulas]
    start = time.process_time()
    for data in packed:
        unpack_operators(data)
    print_line("  an operator tree read back from bytes", len(packed) / (time.process_time() - start))
    print(f"{'  bytes of both trees, mean':62} {sum(map(len, packed)) / len(packed):10,.1f}")
    print_rate("latex2mathml, to MathML (2,000 formulas)", formulas[:2000], convert_batch)
    peers(formulas[:2000])


PYA0 = """
import sys, json, time, pya0
formulas = json.load(sys.stdin)
start = time.process_time()
for latex in formulas:
    pya0.parse(latex)
print(len(formulas) / (time.process_time() - start))
"""


def peers(formulas: list[str]) -> None:
    """Measure pya0's parser and LaTeXML if they are installed. Each measures its own loop in processor seconds."""
    python = os.environ.get("PORISM_BENCH_PYA0")
    if python:
        run = subprocess.run([python, "-c", PYA0], input=json.dumps(formulas), capture_output=True, text=True)
        if run.returncode == 0:
            print_line("pya0 0.3.7, to its operator tree (2,000 formulas)", float(run.stdout.split()[-1]))
        else:
            print(f"pya0 failed: {run.stderr[-100:]}")
    else:
        print("pya0: not measured (PORISM_BENCH_PYA0 names no Python that has it)")
    if not shutil.which("latexmlc"):
        print("LaTeXML: not measured (Debian's package latexml is not installed)")
        return
    lines = "\n".join(" ".join(latex.split()) for latex in formulas[:100])
    with tempfile.TemporaryDirectory() as folder:
        command = ["perl", str(Path(__file__).with_name("_latexml.pl"))]
        run = subprocess.run(command, input=lines, capture_output=True, text=True, cwd=folder)
    if run.returncode == 0:
        count, good, seconds = run.stdout.split()
        print_line(f"LaTeXML, to both MathMLs ({count} formulas, {good} converted)", int(count) / float(seconds))
    else:
        print(f"LaTeXML failed: {run.stderr[-200:]}")


def main() -> None:
    if not DATA.is_dir():
        print(f"the real data is not at {DATA}; set PORISM_SHARED")
        return
    rows = slice_rows()
    distinct = {row.latex: row for row in rows[::-1]}
    early = (line.rstrip("\n").split("\t")[-1] for line in _lines("arqmath-format/latex_representation_sample.tsv"))
    print("\nparsed completely")
    coverage("slice, distinct", ((latex, None) for latex in distinct))
    coverage("as authors wrote", ((latex, None) for number, latex in enumerate(early) if number))
    coverage("topics 2020, 2021", ((latex, None) for latex, _ in topic_formulas()))
    coverage("PlanetMath", planetmath())
    print("\nour layout of our conversion = our layout of LaTeXML's MathML")
    agreement("slice, distinct", ((row.latex, row.slt) for row in distinct.values()))
    agreement("topics 2020, 2021", topic_formulas())
    print("\nvisual ids of the slice")
    visual_ids(rows)
    print("\nspeed, distinct formulas of the slice, one core")
    speeds(list(distinct)[::-1])


if __name__ == "__main__":
    main()
