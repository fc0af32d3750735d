"""Hashes that are the same everywhere, and fingerprints that change with the code and with nothing else."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path

import pytest

from porism.errors import PorismError
from porism.hashing import code_only, combine, digest64, fingerprint, hash64

SOURCE = Path(__file__).resolve().parents[2] / "src" / "porism"


def test_hashes_of_texts_are_fixed() -> None:
    """Indexes store these numbers. The first is XXH3's published value for no input."""
    assert hash64("") & (1 << 64) - 1 == 0x2D06800538D394C2
    assert [hash64(text) for text in ("V!x", "V!y", "√2")] == [
        3275937722478499262,
        2218309742861728145,
        6952960012760660550,
    ]


def test_combined_digests_are_fixed() -> None:
    assert combine([b"ab", b"c"]) == digest64("abc") == bytes.fromhex("78af5f94892f3950")


def test_the_order_of_digests_counts() -> None:
    first, second = digest64("1"), digest64("2")
    assert len({combine(digests) for digests in ([], [first], [first, second], [second, first])}) == 4


def test_a_hash_is_a_signed_64_bit_integer() -> None:
    found = [hash64(str(number)) for number in range(200)]
    assert all(-(1 << 63) <= number < 1 << 63 for number in found)
    assert min(found) < 0 < max(found)
    assert hash64("x").to_bytes(8, "big", signed=True) == digest64("x")


def test_a_lone_surrogate_has_a_hash() -> None:
    assert hash64("\ud800") != hash64("\ud801")


def without_comments(source: str) -> str:
    """Do what `code_only` does, slowly, by Python's own tokenizer and parser."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    cuts = [
        (starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1])
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    ]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(
            node
        ):
            doc = node.body[0]
            end = len(lines[(doc.end_lineno or 1) - 1].encode()[: doc.end_col_offset].decode())
            cuts.append((starts[doc.lineno - 1] + doc.col_offset, starts[(doc.end_lineno or 1) - 1] + end))
    for start, end in sorted(cuts, reverse=True):
        source = source[:start] + source[end:]
    return "\n".join(line.rstrip() for line in source.splitlines() if line.strip())


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_comments_and_docstrings_are_removed(path: Path) -> None:
    source = path.read_text("utf-8")
    assert code_only(source) == without_comments(source)


@pytest.mark.parametrize(
    "source",
    [
        'x = {\n    "a":\n    """text"""\n}\n',
        'x = "#1"  # one\n',
        "x = '\\'#'\n",
        'def f():\n    """One."""\n',
        'def f():\n    r"""One \\d."""\n    return 1\n',
        'class A:  # why\n    """One."""\n\n    x = """not one"""\n',
        'def f():\n    x = f(\n        """text"""\n    )\n',
    ],
)
def test_strings_that_are_no_docstrings_stay(source: str) -> None:
    assert code_only(source) == without_comments(source)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "fingerprinted"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text('"""A package."""\n')
    (folder / "inner" / "__init__.py").write_text("X = 1  # one\n")
    (folder / "inner" / "table.tsv").write_text("a\tb\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.startswith("fingerprinted")]:
        del sys.modules[name]
    return folder


def printed() -> str:
    fingerprint.cache_clear()
    return fingerprint(("fingerprinted",))


def test_a_fingerprint_changes_with_code_and_tables_alone(package: Path) -> None:
    first = printed()
    (package / "inner" / "__init__.py").write_text('"""Reworded."""\n\nX = 1\n')
    (package / "inner" / "code.so").write_bytes(b"\0")
    assert printed() == first
    (package / "inner" / "__init__.py").write_text("X = 2\n")
    second = printed()
    (package / "inner" / "table.tsv").write_text("a\tc\n")
    assert len({first, second, printed()}) == 3


def test_a_module_is_fingerprinted_by_itself(package: Path) -> None:
    (package / "one.py").write_text("X = 1\n")
    before = fingerprint(("fingerprinted.one",))
    (package / "inner" / "table.tsv").write_text("other\n")
    fingerprint.cache_clear()
    assert fingerprint(("fingerprinted.one",)) == before


def test_versions_of_libraries_count() -> None:
    assert fingerprint(("porism.errors",)) != fingerprint(("porism.errors",), ("math-core",))


def test_a_package_without_sources_is_refused(package: Path) -> None:
    for path in package.rglob("*.py"):
        path.unlink()
    with pytest.raises(PorismError, match=r"the source of fingerprinted is missing"):
        printed()
