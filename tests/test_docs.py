"""The documentation is true and complete: every block runs and prints what the page shows, and every command, route,
measure and feature is documented."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from doc_pages import DATA, PAGES, ROOT, RUN, Reader, blocks, commands, renew, same
from porism.cli.parser import WORDS
from porism.evaluate.measures.measure import NAMES

REFERENCE = ROOT / "docs" / "reference"


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if any(b.language in RUN for b in blocks(page))], ids=name_of)
def test_page_shows_what_is_printed(page: Path, demo: Path, tmp_path: Path) -> None:
    """Follow the page from top to bottom, with a fresh copy of the sample and its index."""
    differences = Reader.of(tmp_path, demo).read(page)
    assert not differences, "\n\n".join(map(str, differences))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_name_their_language(page: Path) -> None:
    wrong = [block.where for block in blocks(page) if block.language not in (*RUN, *DATA)]
    assert not wrong, f"write the language of a block, one of {', '.join((*RUN, *DATA))}: {wrong}"


def test_blocks_that_are_not_run_say_why(capsys: pytest.CaptureFixture[str]) -> None:
    found = [block for page in PAGES for block in blocks(page)]
    left_out = [block for block in found if block.reason and block.language in RUN]
    ran = [block for block in found if not block.reason and block.language in RUN]
    with capsys.disabled():
        print(f"\ndocs: {len(ran)} blocks run, {len(left_out)} not run")
        for block in left_out:
            print(f"  {block.where}: {block.reason}")
    assert len(left_out) < len(ran) / 4


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    """A link within the project names an existing file and, after #, one of its headings."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    wrong = []
    for target in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", prose):
        name, _, anchor = target.partition("#")
        place = (page.parent / name).resolve() if name else page
        if not place.exists() or (anchor and place.suffix == ".md" and anchor not in anchors(place)):
            wrong.append(target)
    assert not wrong


def anchors(page: Path) -> set[str]:
    """Return the headings of a page, as links name them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    left_out = [
        name
        for name in (str(p.relative_to(ROOT / "docs")) for p in PAGES if p.is_relative_to(ROOT / "docs"))
        if name != "README.md" and f"({name})" not in index
    ]
    assert not left_out


def test_architecture_names_folders_that_exist() -> None:
    """A path is written from the project or from `src/porism`."""
    named = set(re.findall(r"`([\w/]+/)`", (ROOT / "ARCHITECTURE.md").read_text()))
    assert len(named) > 20
    assert not sorted(
        name for name in named if not any((place / name).is_dir() for place in (ROOT, ROOT / "src/porism"))
    )


@pytest.mark.parametrize("name", WORDS)
def test_every_command_is_documented(name: str) -> None:
    assert f"\n### porism {name}\n" in (REFERENCE / "commands.md").read_text()


def test_every_route_is_documented() -> None:
    from porism.web.api.views import ENDPOINTS

    page = (REFERENCE / "api.md").read_text()
    assert not [endpoint.path for endpoint in ENDPOINTS if f"\n## GET {endpoint.path}\n" not in page]


@pytest.mark.parametrize("name", NAMES)
def test_every_measure_is_documented(name: str) -> None:
    assert f"\n### {name}\n" in (REFERENCE / "measures.md").read_text()


def test_every_part_of_the_engine_is_documented() -> None:
    from porism.search.features import feature_names
    from porism.search.formulas.features import FEATURES as FORMULA_FEATURES
    from porism.search.formulas.searcher import MODES

    page = (REFERENCE / "systems.md").read_text()
    groups = {name.partition(".")[0] + ("." if "." in name else "") for name in feature_names()}
    assert not [name for name in (*groups, *(one.name for one in FORMULA_FEATURES), *MODES) if f"`{name}`" not in page]


def generated() -> dict[str, Callable[[], str]]:
    """Return the pages that docs/generate.py writes."""
    specification = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return dict(module.PAGES)


def test_generated_pages_are_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    old = [name for name, make in generated().items() if (REFERENCE / name).read_text() != make()]
    assert not old, "run: make docs"


@pytest.mark.parametrize(
    ("shown", "printed", "equal"),
    [
        ("a\nb", "a\nb\n", True),
        ("a\nb", "a\nc\n", False),
        ("a\n...\nd", "a\nb\nc\nd\n", True),
        ("a\n...\nd", "a\nd\n", True),
        ("a\n...\nd", "b\nd\n", False),
        ("digest …", "digest 12ab\n", True),
        ("digest …", "digest\n", False),
        ("x … y", "x 3 s y\n", True),
        ("", "", True),
        ("", "something\n", False),
        ("(a+b)*", "(a+b)*\n", True),
    ],
)
def test_shown_and_printed(shown: str, printed: str, equal: bool) -> None:
    assert same(shown, printed) is equal


def test_commands_of_a_block() -> None:
    assert commands("$ a \\\n> b\nout\n$ c\n") == [("a \\\nb", "out"), ("c", "")]
    with pytest.raises(ValueError, match="starts with"):
        commands("out\n")


PAGE = """
```console
$ echo one
two
```
<!-- not run: it would fail -->
```sh
false
```
```sh
false
```
```python
x = 1
```
```python
print(x)
```
```text
2
```
"""


def test_differences_are_reported(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    found = blocks(page)
    assert [(b.language, b.reason, b.shown) for b in found] == [
        ("console", "", None),
        ("sh", "it would fail", None),
        ("sh", "", None),
        ("python", "", None),
        ("python", "", "2\n"),
        ("text", "", None),
    ]
    reader = Reader(tmp_path)
    seen = [(d.shown, d.printed) for block in found for d in reader.follow(block)]
    assert seen == [("two", "one"), ("exit code 0", "exit code 1"), ("2", "1")]


def test_a_block_that_names_a_file_is_saved(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python folder/mine.py\nx = 3\n```\n\n```text\nnot its output\n```\n\n```python\nfrom folder.mine import x\nprint(x)\n```\n\n```text\n3\n```\n"
    )
    assert not Reader(tmp_path).read(page)
    assert (tmp_path / "folder" / "mine.py").read_text() == "x = 3\n"


def test_a_page_can_be_renewed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ printf 'in 3 ms\\n1\\n2\\n3\\n'\nin … ms\n0\n...\n9\n$ echo one\n$ echo two\ntwo\n```\n\n```python\nprint(1)\n```\n\n```text\n2\n```\n"
    )
    renew(page, Reader(tmp_path).read(page)[::-1])
    assert not Reader(tmp_path).read(page)
    assert page.read_text() == (
        "```console\n$ printf 'in 3 ms\\n1\\n2\\n3\\n'\nin … ms\n1\n...\n3\n$ echo one\none\n$ echo two\ntwo\n```\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n"
    )
