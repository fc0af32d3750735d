"""The rules of the project as tests: imports, size, documentation, language."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "porism"
MODULES = sorted(SOURCE.rglob("*.py"))

# Imports go down only: a package may import those of a lower level, and itself. The first ones, up to `parallel`, are
# the ground.
LEVELS = (
    "safe_path",
    "limited_process",
    "errors",
    "plugins",
    "deadline",
    "records",
    "compiled",
    "hashing",
    "caching",
    "progress",
    "limits",
    "locks",
    "unpacking",
    "files",
    "accounts",
    "integrity",
    "parallel",
    "formula",
    "text",
    "models",
    "corpus",
    "analysis",
    "store",
    "evaluate",
    "search",
    "systems",
    "datasets",
    "pyterrier",
    "lab",
    "doctor",
    "web",
    "cli",
)
LEVEL = {name: number for number, name in enumerate(LEVELS)}
HEAVY = (
    "numpy",
    "scipy",
    "numba",
    "lxml",
    "Stemmer",
    "starlette",
    "uvicorn",
    "jinja2",
    "ir_measures",
    "rich",
    "matplotlib",
    "math_core",
    "torch",
    "transformers",
    "sentence_transformers",
    "onnxruntime",
    "distributed",
    "dask",
    "opensearchpy",
    "cbor2",
)
FORBIDDEN = {"utils", "util", "common", "helpers", "helper", "misc", "manager"}

# Words that say less than the field's own, and what to write instead.
DIALECT = {
    r"\b(?:is|are|was|were|be) told\b": "is reported",
    r"\bwhat (?:was|is) asked\b": "the query",
    r"\b(?:Asked|Study|Meeting|Shower|Lighter|Lit|Facts|Desk)\b": "the field's word",
    r"\bstands? (?:for|in|there|above|below|alone)\b": "is, occurs, means",
    r"\bmend(?:s|ed|ing)?\b": "fix, repair, correct",
    r"\b(?:alike|likeness)\b": "similar, similarity, overlap",
    r"\bhand(?:s|ed|ing)?[ -]in\b": "submit",
    r"\bhears\b": "receives",
}
# The rule covers all packages and all pages.
PLAIN_PAGES = (*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md")))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def for_each_module(check: Callable[[Path], None]) -> Callable[[], None]:
    """Make one test of a check: it runs on all modules, and fails with all that is wrong."""

    def test() -> None:
        wrong = []
        for path in MODULES:
            try:
                check(path)
            except AssertionError as error:
                wrong.append(str(error))
        assert not wrong, "\n".join(wrong)

    test.__name__, test.__doc__ = check.__name__, check.__doc__
    return test


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(tree: ast.AST) -> set[str]:
    """Return the porism packages that a module imports, anywhere in it."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module)
            if node.module == "porism":
                names.update(f"porism.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {name.split(".")[1] for name in names if name.startswith("porism.")}


@for_each_module
def test_imports_go_down_only(path: Path) -> None:
    own = package_of(path)
    if own in ("__init__", "__main__"):
        return
    used = imports_of(tree_of(path))
    wrong = {name for name in used if name in LEVEL and name != own and LEVEL[name] >= LEVEL[own]}
    assert not wrong, f"{path} is at level {LEVEL[own]} ({own}) and imports {wrong}"


def folder_graph() -> dict[str, set[str]]:
    """Return which folders import which when they are loaded. The modules of a folder with sub-folders count by
    themselves."""
    modules = {module_name(path): path for path in MODULES}
    parents = {path.parent.parent for path in MODULES}

    def folder(name: str) -> str:
        return name if modules[name].parent in parents else module_name(modules[name].parent / "__init__.py")

    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        used = graph.setdefault(folder(name), set())
        for node in imports_at_once(tree_of(path)):
            found = {f"{node.module}.{alias.name}" for alias in node.names} & modules.keys() or {node.module}
            used.update(map(folder, found & modules.keys()))
    return graph


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


def imports_at_once(node: ast.AST) -> Iterator[ast.ImportFrom]:
    """Yield the imports that run when a module is loaded: none in functions, none for types only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ImportFrom):
            yield child
        typing = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
        if not typing and not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from imports_at_once(child)


def test_folders_import_each_other_in_no_cycle() -> None:
    graph = folder_graph()
    wrong = {one for one in graph if one in reached(graph, one)}
    assert not wrong, f"folders that import each other: {sorted(wrong)}"


def reached(graph: dict[str, set[str]], start: str) -> set[str]:
    """Return what a folder imports through other folders."""
    found: set[str] = set()
    waiting = graph[start] - {start}
    while waiting:
        one = waiting.pop()
        found.add(one)
        waiting |= graph.get(one, set()) - found - {one}
    return found


# The one door to the data: implementations of the store, and the files that they keep. Who else opens files of this
# kind, and why.
IMPLEMENTATIONS = ("porism.corpus.store", "porism.store.embedded", "porism.store.memory", "porism.store.opensearch")
STORED_FILES = {"collection.sqlite", "manifest.json", "concepts.tsv", "vocabulary.tsv", "records.bin"}
PAST_THE_DOOR = {"web/site/backup.py": "copies the files of an index as they are"}
OWN_FILES = {
    "lab/judging": "the journal of an assessment is a database of its own",
    "search/analytics.py": "the analytics of a site are a database of their own",
    "web/server/observer.py": "handles errors of the collection and of the analytics",
    "systems": "named systems keep files of their own in their cache",
    "models": "models are files of other programs",
    "cli/__init__.py": "reports an error of any database in one line",
}


def whole_imports(tree: ast.AST) -> set[str]:
    """Return the full names of the modules that a module imports, also inside functions and for types."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.update((node.module, *(f"{node.module}.{alias.name}" for alias in node.names)))
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found


@for_each_module
def test_data_has_one_door(path: Path) -> None:
    name = path.relative_to(SOURCE).as_posix()
    if name.startswith(("store/", "corpus/")) or name in PAST_THE_DOOR:
        return
    tree = tree_of(path)
    wrong = {one for one in whole_imports(tree) if one.startswith(IMPLEMENTATIONS)}
    assert not wrong, f"{name} imports {wrong}: read porism.store.protocols, open with porism.store.open_store"
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert not texts & STORED_FILES, f"{name} names files of a store: {texts & STORED_FILES}"
    if not name.startswith(tuple(OWN_FILES)):
        opened = {"sqlite3", "numpy.memmap"} & whole_imports(tree)
        opened |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} & {"memmap", "open_memmap"}
        assert not opened, f"{name} opens files with {opened}"


def test_the_exceptions_of_the_door_are_used() -> None:
    for name in PAST_THE_DOOR:
        imports = whole_imports(tree_of(SOURCE / name))
        assert any(one.startswith(IMPLEMENTATIONS) for one in imports), f"{name} needs no exception"
    assert all((SOURCE / place).exists() for place in OWN_FILES)


@pytest.mark.parametrize("arguments", [["-c", "import porism"], ["-m", "porism.cli", "--help"]], ids=["import", "help"])
def test_light_core(arguments: list[str]) -> None:
    run = subprocess.run([sys.executable, "-X", "importtime", *arguments], capture_output=True, text=True, check=True)
    loaded = {
        line.rsplit("|", 1)[-1].strip().split(".")[0]
        for line in run.stderr.splitlines()
        if line.startswith("import time:")
    }
    assert not loaded & set(HEAVY)


@for_each_module
def test_processes_are_started_with_the_safe_path(path: Path) -> None:
    """What Porism starts gets `safe_environment()`. Workers come from `porism.parallel`, or are forked."""
    for node in ast.walk(tree_of(path)):
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if called.startswith("subprocess."):
            given = {option.arg: ast.unparse(option.value) for option in node.keywords}
            assert given.get("env") == "safe_environment()", f"{path}:{node.lineno}: pass env=safe_environment()"
        spawns = called == "multiprocessing.get_context" and ast.unparse(node.args[0]) != "'fork'"
        refused = ("os.system", "os.popen", "os.exec", "os.spawn", "os.posix_spawn", "ProcessPoolExecutor", "Popen")
        assert not spawns, f"{path}:{node.lineno}: use porism.parallel"
        assert not called.startswith(refused), f"{path}:{node.lineno}: use subprocess or porism.parallel"
        searches = called == "shutil.which" and path.stem != "safe_path"
        assert not searches, f"{path}:{node.lineno}: use porism.safe_path.program"


def test_compiled_modules_exist() -> None:
    setup = ast.parse((ROOT / "setup.py").read_text("utf-8"))
    table = next(node.value for node in setup.body if isinstance(node, ast.Assign) and node.targets[0].id == "COMPILED")
    listed = {folder: names.split() for folder, names in ast.literal_eval(table).items()}
    assert all((SOURCE / folder / f"{name}.py").is_file() for folder, names in listed.items() for name in names)


def test_architecture_draws_the_layers_as_they_are() -> None:
    layers = (ROOT / "ARCHITECTURE.md").read_text("utf-8").split("```")[1].split("\n")
    drawn = [line.split()[0] for line in layers if line]
    assert drawn == [name for name in reversed(LEVELS) if LEVEL[name] >= LEVEL["formula"]]


def test_every_package_says_what_it_is_for() -> None:
    """docs/reference/modules.md shows these docstrings."""
    packages = [path for path in MODULES if path.name == "__init__.py"]
    silent = [path.parent.name for path in packages if not ast.get_docstring(ast.parse(path.read_text("utf-8")))]
    assert not silent


def test_dependencies_are_justified_and_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(name for extra in project["optional-dependencies"].values() for name in extra),
    ]
    names = {re.split(r"[<>=]", name)[0].lower().replace("_", "-") for name in wanted}
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().split()}
    page = (ROOT / "docs/why/dependencies.md").read_text("utf-8").lower()
    assert not names - pinned, "not pinned in constraints.txt"
    rows = {
        name.strip() for line in page.splitlines() if line.startswith("| ") for name in line.split("|")[1].split(",")
    }
    assert not names - rows, "not justified in docs/why/dependencies.md"


def test_no_module_is_named_for_everything() -> None:
    assert not [p for p in MODULES if p.stem in FORBIDDEN or set(p.relative_to(SOURCE).parts[:-1]) & FORBIDDEN]


def public_definitions(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Return the public functions, classes and methods of a module."""
    found: list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef] = []
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            found.append(node)
            if isinstance(node, ast.ClassDef):
                found += [
                    n
                    for n in node.body
                    if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and not n.name.startswith("_")
                ]
    return found


@for_each_module
def test_public_things_are_typed_and_documented(path: Path) -> None:
    for node in public_definitions(tree_of(path)):
        assert ast.get_docstring(node), f"{path}:{node.lineno}: {node.name} has no docstring"
        if not isinstance(node, ast.ClassDef):
            bare = [
                a.arg for a in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs] if a.annotation is None
            ]
            assert set(bare) <= {"self", "cls"}, f"{path}:{node.lineno}: {node.name}({bare}) has no type"
            assert node.returns is not None, f"{path}:{node.lineno}: {node.name} has no return type"


@for_each_module
def test_modules_and_functions_are_short(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 400, f"{path}: look for the second idea"
    for node in ast.walk(tree_of(path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert (node.end_lineno or 0) - node.lineno <= 60, f"{path}:{node.lineno}: {node.name} is too long"


# Functions that may have more parameters than six: loops compiled by numba, and those whose signatures are not ours.
COMPILED_LOOP = re.compile(r"compiled|jit|kernel|vectorize")
WIDE = {
    "perform_request": "the signature is that of opensearch-py",
    "HashedNode.__init__": "compiled, and called for every node of every formula",
}


@for_each_module
def test_functions_have_at_most_six_parameters(path: Path) -> None:
    for owner in (tree_of(path), *(node for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef))):
        for node in owner.body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            name = f"{owner.name}.{node.name}" if isinstance(owner, ast.ClassDef) else node.name
            given = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            is_loop = any(COMPILED_LOOP.search(ast.unparse(one)) for one in node.decorator_list)
            if not is_loop and name not in WIDE and node.name not in WIDE:
                wide = len(given) - (given[:1] in (["self"], ["cls"])) > 6
                assert not wide, f"{path}:{node.lineno}: {name}: group its parameters into a value that has a name"


def test_a_class_name_is_used_once() -> None:
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_no_text_names_a_path_of_a_machine() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    texts = [
        ROOT / name for name in tracked if re.search(r"\.(py|md|toml|txt|html|js|css|xml|tsv)$|Makefile|\.ci/run", name)
    ]
    machine = re.compile(r"/" + r"work/(main|shared)|/" + r"root/|/" + r"home/\w")
    wrong = [str(p) for p in texts if p.exists() and machine.search(p.read_text(encoding="utf-8", errors="ignore"))]
    assert not wrong


def plain_texts() -> list[Path]:
    """Return the files that the rule about language covers."""
    endings = {".py", ".html", ".tsv", ".toml"}
    every = [path for path in SOURCE.rglob("*") if path.suffix in endings]
    return [*sorted(every), *PLAIN_PAGES]


def test_texts_are_in_plain_words() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match[0]!r} (write: {better})"
        for path in plain_texts()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for pattern, better in DIALECT.items()
        for match in [re.search(pattern, line)]
        if match
    ]
    assert not found, "\n" + "\n".join(found)


# Pages that are read in one go, and how long they may get (bytes).
LENGTHS = {"CHANGELOG.md": 5_000, "ARCHITECTURE.md": 12_000}


@pytest.mark.parametrize("name", LENGTHS)
def test_pages_that_are_read_in_one_go_stay_short(name: str) -> None:
    assert (ROOT / name).stat().st_size <= LENGTHS[name]
