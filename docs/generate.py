"""Write the generated pages of the reference (`make docs`). A test fails if a page is not up to date.

The page of commands comes from the argument parser, that of the API from its OpenAPI document, that of settings from
their table, that of modules from the docstrings of packages, the drawings of systems from their declarations.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
from collections.abc import Iterator
from pathlib import Path

REFERENCE = Path(__file__).parent / "reference"
SOURCE = Path(__file__).resolve().parents[1] / "src" / "porism"
DRAWINGS = Path(__file__).parent / "images" / "systems"
WIDTH = "100"


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield a parser and the parsers of all commands below it."""
    yield parser
    for commands in parser._actions:
        if isinstance(commands, argparse._SubParsersAction):
            for below in commands.choices.values():
                yield from parsers(below)


def commands_page() -> str:
    """Return the page of commands: by section, the help of each as a terminal shows it."""
    from porism.cli import make_parser
    from porism.cli.parser import SECTIONS

    os.environ["COLUMNS"] = WIDTH
    every = {parser.prog: f"```text\n{parser.format_help().rstrip()}\n```\n" for parser in parsers(make_parser())}
    pages = ["# Commands\n\n`make docs` writes this page from the commands' own help.\n", every["porism"]]
    for title, words in SECTIONS.items():
        pages.append(f"## {title[0].upper()}{title[1:]}\n")
        pages += [
            f"### {name}\n\n{text}" for name, text in every.items() if name.split()[1:2] in [[word] for word in words]
        ]
    return "\n".join(pages)


def api_page() -> str:
    """Return the page of the HTTP API: each route with its parameters."""
    from porism.web.pages.api_page import document

    pages = [
        "# HTTP API\n\n`make docs` writes this page from the OpenAPI document, which the server publishes at `/v1/openapi.json`.\n"
    ]
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            pages.append(f"## {method.upper()} {path}\n\n{operation['summary']}\n")
            rows = [parameter_row(p) for p in operation.get("parameters", [])]
            if rows:
                pages.append("| parameter | type | default | what |\n|---|---|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(pages)


def parameter_row(parameter: dict[str, object]) -> str:
    """Return a parameter as a row of a table."""
    schema = parameter["schema"]
    assert isinstance(schema, dict)
    kind = " ".join(map(str, schema.get("enum", [schema.get("type", "")])))
    default = "required" if parameter["required"] else schema.get("default", "")
    return f"| `{parameter['name']}` | {kind} | {default} | {parameter['description']} |"


def settings_page() -> str:
    """Return the page of the settings of a site."""
    from porism.web.site.settings import reference_page

    return reference_page()


def modules_page() -> str:
    """Return the page of modules: what each folder is for, by its docstring."""
    rows = ["| folder | what it is for |", "|---|---|"]
    for file in sorted(SOURCE.rglob("__init__.py"), key=lambda file: file.parent.parts):
        doc = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
        rows.append(f"| `{file.parent.relative_to(SOURCE.parent)}` | {' '.join(doc.split(chr(10) * 2)[0].split())} |")
    head = "# Modules\n\n`make docs` writes this page from the docstrings of the packages. Each module begins with one of its own.\n"
    return "\n".join([head, *rows]) + "\n"


def drawings() -> dict[str, str]:
    """Return the drawing of every named system that has parts, by the name of its file."""
    from porism.systems.declared.declaration import shipped
    from porism.systems.declared.describe import drawing, file_name

    return {file_name(one): drawing(one) for one in shipped() if one.parts}


PAGES = {"commands.md": commands_page, "api.md": api_page, "settings.md": settings_page, "modules.md": modules_page}


def main() -> int:
    """Write all generated pages."""
    REFERENCE.mkdir(exist_ok=True)
    for name, make in PAGES.items():
        (REFERENCE / name).write_text(make())
    DRAWINGS.mkdir(parents=True, exist_ok=True)
    for name, text in drawings().items():
        (DRAWINGS / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
