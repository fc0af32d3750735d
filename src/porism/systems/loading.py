"""Systems by name: a declared system, of which the default engine `porism` is the first, or a class or function of the user's own,
`my_module:MyRetriever`."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from porism.errors import PorismError
from porism.progress import Progress, Silent
from porism.safe_path import import_own
from porism.search.index import Index
from porism.search.retriever import NamedPart, Pipeline, Retriever
from porism.store import open_store
from porism.store.state import State
from porism.systems.declared.context import SystemContext
from porism.systems.declared.declaration import OWN_FILE, find_declaration, shipped
from porism.systems.declared.pipeline import build_declared, check_overrides
from porism.systems.queries.hand_queries import HandQueries

DEFAULT = shipped()[0].name


def open_system(
    index: str | Path,
    name: str,
    task: int | None = None,
    *,
    queries: HandQueries | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
    models: Mapping[str, str] | None = None,
) -> Pipeline:
    """Open an index and return the system with a name over it. `options` (part -> option -> value) win over the declaration; `models` are
    the directories of named models."""
    context = SystemContext(
        Index(open_store(index).snapshot()),
        task or system_task(name) or 1,
        Path(cache) if cache else State(index).systems,
        queries,
        progress or Silent(),
        options or {},
        models or {},
    )
    return load_system(name, context)


def is_declared(name: str) -> bool:
    """Return whether a name is that of a declaration, not of a class."""
    return ":" not in name or f"{OWN_FILE}:" in name


def system_task(name: str) -> int | None:
    """Return the task of a declared system, or None where its name does not say."""
    if not is_declared(name):
        return None
    try:
        return find_declaration(name).task
    except PorismError:  # of several tasks
        return None


def load_system(name: str, context: SystemContext) -> Pipeline:
    """Return the system with a name as a pipeline."""
    if not is_declared(name):
        return Pipeline([NamedPart(name.rpartition(":")[2], _own_system(name, context.index))], name)
    declaration = find_declaration(name, context.task)
    check_overrides(declaration, context.overrides)
    return build_declared(declaration, context)


def _own_system(name: str, index: Index) -> Retriever:
    """Import a user's class, or function that returns a retriever, and call it with the index."""
    system = own_object(name, index)
    if not isinstance(system, Retriever):
        class_name = name.partition(":")[2]
        raise PorismError(
            f"{class_name} is not a Retriever", where=name, fix="derive it from porism.search.retriever.Retriever"
        )
    return system


def own_object(name: str, index: Index) -> object:
    """Import a user's class or function, `my_module:name`, and call it with the index."""
    module_name, _, class_name = name.partition(":")
    try:
        module = import_own(module_name)
    except ImportError as error:
        fix = f"run the command in the folder of {module_name.replace('.', '/')}.py, or install the package"
        raise PorismError(f"cannot import {module_name}: {error}", where=name, fix=fix) from None
    made = getattr(module, class_name, None)
    if made is None:
        names = [one for one in vars(module) if not one.startswith("_")]
        near = get_close_matches(class_name, names, 1)
        fix = f"did you mean {module_name}:{near[0]}?" if near else f"define class {class_name} there"
        raise PorismError(f"{module_name} has no {class_name}", where=name, fix=fix)
    return made(index) if callable(made) and not isinstance(made, Retriever) else made
