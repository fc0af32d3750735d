"""Formulas: how many are read in full, agreement with LaTeXML and with the official visual ids, speed.

python -m bench formulas [needs the real data folder; PORISM_SHARED names it]
PORISM_BENCH_PYA0 names a Python that has pya0 0.3.7, to time its parser beside ours.
"""

from __future__ import annotations

import csv
import gc
import json
import os
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from bench._visual_ids import visual_ids
from porism.formula import Parsed, parse, parse_mathml, tangent
from porism.formula.macros import Macros, definitions

DATA = Path(os.environ.get("PORISM_SHARED", Path(__file__).resolve().parents[2] / "shared")) / "data"
# Formulas of an entry in LaTeX: between dollars, brackets, or in a display environment.
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
    """LaTeX and LaTeXML's MathML of every topic formula of 2020 and 2021."""
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


def full(parsed: Parsed) -> bool:
    """No part of the layout tree is opaque."""
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
        whole = full(parsed)
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
        print(f"{'':22} not by math-core, commonest causes: {causes.most_common(6)}")


def agreement(name: str, pairs: Iterable[tuple[str, str]]) -> None:
    """How often our layout of our conversion is our layout of LaTeXML's MathML."""
    same: Counter[bool] = Counter()
    apart: Counter[bool] = Counter()
    for latex, slt in pairs:
        if not slt.lstrip().startswith("<"):
            continue
        equal = tangent(parse(latex).layout) == tangent(parse_mathml(slt).layout)
        same[equal] += 1
        if "<merror" not in slt:
            apart[equal] += 1
    print(f"{name:22} {_share(same)}; without those that LaTeXML marked merror {_share(apart)}")


def _share(counts: Counter[bool]) -> str:
    return f"{counts[True] / max(counts.total(), 1):.2%} of {counts.total():,}"


def rate(name: str, formulas: list[str], step: Callable[[str], object]) -> None:
    """Formulas per second of one core, the best of three passes; nothing is kept, as in a build."""
    best = float("inf")
    for _ in range(3):
        gc.collect()
        start = time.process_time()
        for latex in formulas:
            step(latex)
        best = min(best, time.process_time() - start)
    print(f"{name:48} {len(formulas) / best:10,.0f} per second  {best / len(formulas) * 1e6:8.1f} µs each")


def speeds(formulas: list[str]) -> None:
    from latex2mathml.converter import convert

    from porism.formula.binary import pack, unpack_operators
    from porism.formula.canonical import canonical, subexpression_hashes
    from porism.formula.convert import to_mathml
    from porism.formula.tuples import mathtuples

    def hashed(latex: str) -> Parsed:
        parsed = parse(latex)
        subexpression_hashes(parsed.operators)
        return parsed

    def indexed(latex: str) -> Parsed:
        parsed = hashed(latex)
        mathtuples(parsed.layout)
        return parsed

    rate("to MathML (repairs and fallback included)", formulas, to_mathml)
    rate("to MathML and layout", formulas, parse)
    rate("to MathML, layout and operator tree", formulas, lambda latex: parse(latex).operators)
    rate("all of that, hashes of parts at all four levels", formulas, hashed)
    rate("all of that, mathtuples", formulas, indexed)
    rate("all of that, renamed canonical tree", formulas, lambda latex: canonical(indexed(latex).operators, "renamed"))
    packed = [pack(parse(latex)) for latex in formulas]
    start = time.process_time()
    for data in packed:
        unpack_operators(data)
    print(
        f"{'an operator tree read back from bytes':48} {len(packed) / (time.process_time() - start):10,.0f} per second"
    )
    print(f"{'bytes of both trees, mean':48} {sum(map(len, packed)) / len(packed):10,.0f}")

    def other(latex: str) -> None:
        try:
            convert(latex)
        except Exception:
            return

    rate("latex2mathml to MathML (2,000 formulas)", formulas[:2000], other)
    peers(formulas[:2000])


def peers(formulas: list[str]) -> None:
    """pya0's parser and LaTeXML, where they are installed; each times its own loop."""
    python = os.environ.get("PORISM_BENCH_PYA0")
    if python:
        code = (
            "import sys, json, time, pya0\nformulas = json.load(sys.stdin)\nstart = time.process_time()\n"
            "for latex in formulas: pya0.parse(latex)\nprint(len(formulas) / (time.process_time() - start))"
        )
        run = subprocess.run(
            [python, "-c", code], input=json.dumps(formulas), capture_output=True, text=True, timeout=300
        )
        found = (
            f"{float(run.stdout.split()[-1]):10,.0f} per second"
            if run.returncode == 0
            else f"failed: {run.stderr[-100:]}"
        )
        print(f"{'pya0 0.3.7 to its operator tree (2,000 formulas)':48} {found}")
    else:
        print("pya0: not measured (PORISM_BENCH_PYA0 names no Python that has it)")
    latexml = shutil.which("latexmlc")
    if not latexml:
        print("LaTeXML: not measured (Debian's package latexml is not installed)")
        return
    some = formulas[:100]
    paragraphs = "\n\n".join(f"\\[{latex}\\]" for latex in some)
    times = []
    for text in (r"\[x\]", paragraphs):
        start = time.perf_counter()
        subprocess.run(
            [latexml, "--preload=amsmath", "--preload=amsfonts", "--pmml", "--cmml", "--profile=fragment", "-"],
            input=text, capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        times.append(time.perf_counter() - start)
    print(
        f"{'LaTeXML to MathML (100 formulas, start deducted)':48} {len(some) / max(times[1] - times[0], 1e-9):10,.1f} per second"
    )


def main() -> None:
    if not DATA.is_dir():
        print(f"the real data is not at {DATA}; set PORISM_SHARED")
        return
    rows = slice_rows()
    distinct = {row.latex: row for row in rows[::-1]}
    early = (line.rstrip("\n").split("\t")[-1] for line in _lines("arqmath-format/latex_representation_sample.tsv"))
    print("\nread in full")
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
