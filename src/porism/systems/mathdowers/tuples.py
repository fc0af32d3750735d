"""Math tuples of Tangent-L: pairs, terminals, compounds and duplicates of a symbol tree, without and with their
location.

Each node gives, in this order: its compound `(x,[edges])` when it has several children; for each child the pair
`(x,y,edge)` and the child's own tuples; `(x,!0)` when it has none; then a duplicate `{x,path}` or `{x,path,path}` when
its label occurred before. Locations are paths from the root, which begin anew below a relation sign (anchor)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from porism.systems.mathdowers.reading import EDGES, SymbolNode, UnreadableMathML, symbol_tree

START, END, ERROR = "#(start)#", "#(end)#", "#(error)#"
ANCHORS = frozenset((":=", *"<=>≠≤≥∝∼≅≈≡→↔↦⇒⇔⟹⊂⊆⊈"))
NO_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class TupleRules:
    """Which tuples a version of Tangent-L writes."""

    longest_location: int = 6
    """Number of edges of the longest location that a located twin may have; -1 for no located twins."""
    deepest: int = 100
    """Nodes with a longer location yield no tuples."""
    anchors: frozenset[str] = ANCHORS
    all_duplicates: bool = False
    """Pair a repeated label with each earlier occurrence instead of the last one."""
    wildcards: bool = True
    """Write each duplicate again with the kind of its label instead of the label: `{?v,path}`."""
    located_first: bool = False
    errors_as_symbols: bool = False
    """Read an error element (`E!`) as a symbol, which may occur again, without what it holds."""
    spelling: str = "2022"
    """How labels are written, by the year of the version: see `written`."""
    blanks_as_written: bool = False
    """Write white space within a label as it is instead of as one blank, `␣`."""

    def written(self, label: str) -> str:
        """Return a label as tokens write it."""
        return written(label, self.spelling, self.blanks_as_written)


L8 = TupleRules()
L1 = TupleRules(longest_location=-1)
# The tokens published for the topics come from MathML in which runs of white space were one blank; those of queries and
# documents do not.
L8_SEARCH = TupleRules(blanks_as_written=True)
L1_SEARCH = TupleRules(longest_location=-1, blanks_as_written=True)
TANGENT_L_2021 = TupleRules(
    NO_LIMIT, NO_LIMIT, frozenset(), all_duplicates=True, wildcards=False, located_first=True, errors_as_symbols=True,
    spelling="2021", blanks_as_written=True,
)  # fmt: skip


def math_tokens(mathml: str, rules: TupleRules = L8) -> list[str]:
    """Return the tokens of a formula between start and end; none when nothing is visible, `#(error)#` if unreadable."""
    try:
        root = symbol_tree(mathml)
        return [] if root is None else [START, *tree_tokens(root, rules), END]
    except UnreadableMathML:
        return [ERROR]


def tree_tokens(root: SymbolNode, rules: TupleRules) -> list[str]:
    """Return the tokens of a symbol tree."""
    tokens: list[str] = []
    seen: dict[str, list[str]] = {}
    # Entries are nodes to enter, with the pair to write first, and nodes to leave. A stack, because rows are long.
    stack: list[tuple[SymbolNode, str, str, str | None]] = [(root, "", "", "")]
    while stack:
        node, path, parent_path, pair = stack.pop()
        if pair is None:
            _add_duplicates(tokens, node.label, path, seen, rules)
            continue
        if pair:
            _add(tokens, f"({pair}", ")", parent_path, rules)
        if len(path) > rules.deepest:
            continue
        label = rules.written(node.label)
        edges = [edge for edge in EDGES if edge in node.links] if node.links else []
        if rules.errors_as_symbols and node.label == "E!" and "w" in edges:
            edges.remove("w")
        if not edges:
            _add(tokens, f"({label},!0", ")", path, rules)
            _add_duplicates(tokens, node.label, path, seen, rules)
            continue
        if len(edges) > 1:
            _add(tokens, f"({label},[{','.join(edges)}]", ")", path, rules)
        stack.append((node, path, "", None))
        anchored = node.label in rules.anchors
        for edge in reversed(edges):
            child = node.links[edge]
            child_path = "" if anchored else path + edge
            stack.append((child, child_path, path, f"{label},{rules.written(child.label)},{edge}"))
    return tokens


def _add(tokens: list[str], body: str, closing: str, location: str, rules: TupleRules) -> None:
    """Add a tuple and, when its location is short enough, its located twin."""
    plain = f"#{body}{closing}#"
    if len(location) > rules.longest_location:
        tokens.append(plain)
        return
    located = f"#{body},{coded(location)}{closing}#"
    tokens.extend((located, plain) if rules.located_first else (plain, located))


def _add_duplicates(tokens: list[str], label: str, path: str, seen: dict[str, list[str]], rules: TupleRules) -> None:
    """Add the tuples of a label that occurred before, and remember this occurrence."""
    kind = _kind(label)
    if kind == "E" and not rules.errors_as_symbols:
        return
    paths = seen.setdefault(label, [])
    for earlier in paths if rules.all_duplicates else paths[-1:]:
        for body, location in _duplicates(label, kind, earlier, path, rules):
            _add(tokens, "{" + body, "}", location, rules)
    paths.append(path)


def _duplicates(label: str, kind: str, earlier: str, path: str, rules: TupleRules) -> Iterator[tuple[str, str]]:
    """Yield the bodies of a duplicate with their location: the path both occurrences share."""
    shared = next(
        (place for place, (a, b) in enumerate(zip(earlier, path, strict=False)) if a != b), min(len(earlier), len(path))
    )
    common = path[:shared]
    paths = coded(earlier[len(common) :])
    if len(common) < len(path):
        paths += "," + coded(path[len(common) :])
    yield f"{rules.written(label)},{paths}", common
    if rules.wildcards:
        yield (f"?{kind.lower()}" if kind != "W" else rules.written(label)) + f",{paths}", common


def _kind(label: str) -> str:
    """Return the kind of a label: the letters before its exclamation mark; operators are `O`."""
    if not label:
        raise UnreadableMathML("a symbol without a label")
    before, mark, _ = label.partition("!")
    return before if mark and before else "W" if label[0] == "?" else "O"


_RUN = re.compile(r"(.)\1*")


def coded(path: str) -> str:
    """Write a path: `-` when empty, run-length coded when longer than five edges."""
    if len(path) > 5:
        return _RUN.sub(lambda found: f"{len(found[0])}{found[1]}", path)
    return path or "-"


_ENTITIES = {f"&{name};": name for name in ("comma", "quot", "apos", "lsqb", "rsqb", "quest")}
_NAMES: dict[str, dict[str, str]] = {
    "2021": {"'": "", '"': "", " ": "", **_ENTITIES, ">": "gt", "<": "lt", "*": "/*"},
    "2022": {"'": "", '"': "", " ": "", **_ENTITIES, "&amp;": "amp", "&": "amp", ">": "gt", "<": "lt", "*": "ast"},
}
_NAME = {spelling: re.compile("|".join(map(re.escape, names))) for spelling, names in _NAMES.items()}
_BLANKS = re.compile(r"[\s␣]+")


@lru_cache(50_000)
def written(label: str, spelling: str, blanks_as_written: bool) -> str:
    """Return a label as tokens write it: lower case, marks as names, invisible characters as escapes (`\\u2005`)."""
    names = _NAMES[spelling]
    text = label if blanks_as_written else _BLANKS.sub("␣", label)
    return _NAME[spelling].sub(lambda found: names[found[0]], repr(text)[1:-1].lower())
