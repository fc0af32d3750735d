"""Operator trees: how many formulas are parsed completely, how similar the trees are to official and gold trees,
speed."""

from __future__ import annotations

import csv
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator

from bench._data import DATA
from bench._operators_gold import content_tree, semantic_tree, similarity
from porism.formula import parse, parse_mathml
from porism.formula.canonical.forms import canonical, subexpressions
from porism.formula.mathml.content_reader import from_content
from porism.formula.operators.parse import operator_tree
from porism.formula.plaintext import tree_text
from porism.formula.tree import Node

csv.field_size_limit(sys.maxsize)


def main() -> None:
    """Print all tables."""
    if not DATA.exists():
        print(f"operators: no data at {DATA}; set PORISM_SHARED")
        return
    coverage()
    official()
    gold()


def slice_formulas() -> list[str]:
    """Return the distinct LaTeX strings of the slice."""
    with open(DATA / "slice/formulas.tsv", encoding="utf-8") as file:
        next(file)
        return list(dict.fromkeys(line.rstrip("\n").split("\t")[5] for line in file))


def topic_formulas() -> Iterator[tuple[str, str]]:
    """Yield LaTeX and official operator tree (Content MathML) of every topic formula."""
    folder = DATA / "arqmath-format/topic-formulas"
    for year in (2020, 2021):
        with open(folder / f"{year}_formulas_latex.tsv", encoding="utf-8") as file:
            latex = dict(line.rstrip("\n").split("\t")[0::4][:2] for line in file)
        with open(folder / f"{year}_formulas_opt.tsv", encoding="utf-8", newline="") as file:
            for row in csv.reader(file, delimiter="\t"):
                if row[0] in latex and row[0] != "id":
                    yield latex[row[0]], row[4]


_FORMULA = re.compile(
    r"\$\$(.+?)\$\$|(?<!\\)\$(.+?)(?<!\\)\$|\\\[(.+?)\\\]|\\\((.+?)\\\)|"
    r"\\begin\{(?:equation|align|eqnarray|gather|multline)\*?\}(.+?)\\end\{(?:equation|align|eqnarray|gather|multline)\*?\}",
    re.S,
)


def planetmath_formulas() -> list[str]:
    """Return the distinct formulas of the encyclopedia; macros are not expanded."""
    found: dict[str, None] = {}
    with open(DATA / "planetmath/entries.jsonl", encoding="utf-8") as file:
        for line in file:
            for match in _FORMULA.finditer(json.loads(line)["body"]):
                found[next(part for part in match.groups() if part)] = None
    return list(found)


def coverage() -> None:
    """Print the share of formulas without an opaque node, the causes of opaque nodes, and the time of the steps after
    the layout tree."""
    print("\nset\tformulas\tfull operator tree\t%\tnodes\toperators µs\thashes µs")
    causes: Counter[str] = Counter()
    sets: dict[str, list[str]] = {
        "slice": slice_formulas(),
        "topics 2020-2021": list(dict.fromkeys(latex for latex, _ in topic_formulas())),
        "PlanetMath": planetmath_formulas(),
    }
    for name, formulas in sets.items():
        full = nodes = 0
        operators = hashes = 0.0
        for start in range(0, len(formulas), 500):
            layouts = [parse(latex).layout for latex in formulas[start : start + 500]]
            begin = time.process_time()
            trees = [operator_tree(layout) for layout in layouts]
            middle = time.process_time()
            for tree in trees:
                subexpressions(tree)
            hashes += time.process_time() - middle
            operators += middle - begin
            for tree in trees:
                nodes += tree.size()
                full += "E!" not in tree_text(tree)
                causes.update({node.label[:12] for node in tree.walk() if node.label[:2] == "E!"})
        count = max(1, len(formulas))
        times = f"{operators / count * 1e6:.0f}\t{hashes / count * 1e6:.0f}"
        print(f"{name}\t{count}\t{full}\t{full / count:.2%}\t{nodes / count:.1f}\t{times}")
    begin = time.process_time()
    total = 0
    for number in range(1_000_000):
        total += number * number & 7
    print(
        f"one step of a plain loop took {(time.process_time() - begin) * 1000:.0f} ns meanwhile (about 45 on an idle machine of 2023)"
    )
    print("most frequent causes:", ", ".join(f"{label} {number}" for label, number in causes.most_common(12)))


# Where our trees differ on purpose: a label of ours that marks the difference, and a description.
DESIGN = {
    "O!apply": "f(x) is an application, not a product",
    "O!modulo": "a congruence has its modulus",
    "O!text": "words are no factors",
    "O!implies": "implications bind looser than relations",
    "U!iff": "implications bind looser than relations",
    "O!forall": "a quantifier has a binder and a body",
    "O!exists": "a quantifier has a binder and a body",
    "O!diff": "d/dx is a derivative, not a fraction",
    "O!upper": "an index in brackets above is no power",
    "O!not": "a negation negates what follows",
    "O!transpose": "a transpose is no power",
    "O!inner-product": "an inner product is no list",
    "O!nabla": "a gradient is applied",
    "O!divides": "a bar between numbers is a relation",
}


def official() -> None:
    """Compare our trees with the official trees of topic formulas, without those that LaTeXML itself did not parse."""
    equal = count = unparsed = 0
    total = 0.0
    causes: Counter[str] = Counter()
    for latex, opt in topic_formulas():
        theirs = from_content(opt)
        labels = {node.label for node in theirs.walk()}
        if any(label[:3] == "T!\\" or label in ("V!&", "W!") or label[:2] == "E!" for label in labels):
            unparsed += 1
            continue
        ours = operator_tree(parse(latex).layout)
        value = similarity(_comparable(ours), _comparable(theirs))
        count += 1
        total += value
        equal += value == 1
        if value < 1:
            marks = [DESIGN[node.label] for node in ours.walk() if node.label in DESIGN and node.label not in labels]
            causes[marks[0] if marks else "other"] += 1
    print(f"\nofficial OPT of {count} topic formulas (without {unparsed} that LaTeXML did not parse)")
    print(f"similarity {total / count:.4f}, equal {equal / count:.2%}; the others, by the first difference by design:")
    for cause, number in causes.most_common():
        print(f"\t{number}\t{cause}")


def _comparable(tree: Node) -> Node:
    """Return the canonical form in which all converters are compared. Words become symbols, since converters differ in
    the type of words."""
    for node in tree.walk():
        if node.label[:2] == "T!":
            node.label = "V!" + node.label[2:].strip()
    return canonical(tree, "commutative").tree


def gold() -> None:
    """Print the similarity to the gold content trees of MathMLben, for our trees and for the stored converters with a
    content tree."""
    converters: dict[str, Callable[[dict[str, str]], Node | None]] = {
        "Porism": lambda row: operator_tree(parse(row.get("correct_tex") or row["math_inputtex"]).layout),
        "LaTeXML": lambda row: content_tree(row["mml_latexml"]) if row.get("mml_latexml") else None,
        "Mathoid (speech-rule-engine)": lambda row: (
            semantic_tree(row["mml_mathoid"]) if row.get("mml_mathoid") else None
        ),
    }
    with open(DATA / "mathml/gold.jsonl", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    scores: dict[str, list[float | None]] = {name: [] for name in converters}
    for row in rows:
        right = _comparable(content_tree(row["correct_mml"]) or Node("W!"))
        for name, convert in converters.items():
            tree = convert(row)
            scores[name].append(None if tree is None else similarity(_comparable(tree), right))
    common = [at for at in range(len(rows)) if all(scores[name][at] is not None for name in converters)]
    print(f"\nMathMLben gold, {len(rows)} formulas, {len(common)} with a tree of every converter")
    print("converter\ttrees\tsimilarity (common)\tequal (common)\tsimilarity (own)")
    for name, values in scores.items():
        both = [values[at] or 0.0 for at in common]
        own = [value for value in values if value is not None]
        equal = sum(value == 1 for value in both)
        print(f"{name}\t{len(own)}\t{sum(both) / len(both):.4f}\t{equal}\t{sum(own) / len(own):.4f}")
    _presentation_only(rows)


def _presentation_only(rows: list[dict[str, str]]) -> None:
    """Print the similarity of the trees that we read from the Presentation MathML of all six stored converters."""
    print("\nPresentation MathML of the converters, read by Porism\ttrees\tsimilarity\tequal")
    for name in ("latexml", "mathoid", "snuggletex", "mathematical", "latex2mathml", "mathtoweb"):
        values = []
        for row in rows:
            text = row.get(f"mml_{name}")
            if text:
                right = _comparable(content_tree(row["correct_mml"]) or Node("W!"))
                values.append(similarity(_comparable(operator_tree(parse_mathml(text).layout)), right))
        print(f"{name}\t{len(values)}\t{sum(values) / len(values):.4f}\t{sum(value == 1 for value in values)}")


if __name__ == "__main__":
    main()
