"""Other parsers of typed mathematics, on the golden queries of tests/text/typed/typed.tsv: how many formulas each of
them reads alike.

    pip install py-asciimath asciimathml sympy pylatexenc
    python -m bench typed_parsers

A formula counts as read if its operator tree equals that of the expected LaTeX, up to the order of commutative
operands. Each parser gets only the formula, without the words around it.
"""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from porism.formula import Parsed, parse, parse_mathml
from porism.formula.canonical.forms import canonical
from porism.formula.plaintext import tree_text
from porism.text.typed.box import split_query
from porism.text.typed.grammar import latex_readings

GOLDEN = Path(__file__).parents[1] / "tests/text/typed/typed.tsv"
Reader = Callable[[str], Parsed]


def formulas() -> Iterator[tuple[str, str]]:
    """Yield what is typed and the expected LaTeX of each formula of the golden queries."""
    for line in GOLDEN.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            for part in split_query(line.split("\t")[0]):
                if part.kind == "formula":
                    yield part.source, part.latex


def readers() -> Iterator[tuple[str, Reader]]:
    """Yield the parsers that are installed."""
    yield "as LaTeX (before)", parse
    yield (
        "porism.text.typed",
        lambda text: parse((latex_readings(text) or (text,))[0] if "\\" not in text else text),
    )
    with contextlib.suppress(ImportError):
        from py_asciimath.translator.translator import ASCIIMath2Tex

        translator = ASCIIMath2Tex(log=False, inplace=True)
        yield (
            "py-asciimath",
            lambda text: parse(translator.translate(text, from_file=False, displaystyle=False).strip("$")),
        )
    with contextlib.suppress(ImportError):
        from xml.etree.ElementTree import tostring

        from asciimathml import parse as ascii_parse

        yield "asciimathml", lambda text: parse_mathml(tostring(ascii_parse(text), encoding="unicode"))
    with contextlib.suppress(ImportError):
        yield "sympy", _sympy_reader()
    with contextlib.suppress(ImportError):
        from pylatexenc.latexencode import unicode_to_latex

        yield "pylatexenc (Unicode only)", lambda text: parse(unicode_to_latex(text, non_ascii_only=True))


def _sympy_reader() -> Reader:
    from sympy import latex
    from sympy.parsing.sympy_parser import (
        convert_xor,
        implicit_multiplication_application,
        parse_expr,
        standard_transformations,
    )

    rules = (*standard_transformations, implicit_multiplication_application, convert_xor)
    return lambda text: parse(latex(parse_expr(text, transformations=rules, evaluate=False)))


def _form(formula: Parsed) -> str:
    return tree_text(canonical(formula.operators, "commutative").tree)


def main() -> None:
    """Print a table: parser, formulas read alike, formulas refused, milliseconds a formula."""
    rows = list(formulas())
    wanted = [_form(parse(latex)) for _, latex in rows]
    print(f"{len(rows)} formulas")
    for name, read in readers():
        good = refused = 0
        began = time.perf_counter()
        for (text, _), form in zip(rows, wanted, strict=True):
            try:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                    good += _form(read(text)) == form
            except Exception:  # whatever a parser raises, it has not read the formula
                refused += 1
        print(f"{name}\t{good}\t{refused}\t{(time.perf_counter() - began) / len(rows) * 1000:.1f} ms")


if __name__ == "__main__":
    main()
