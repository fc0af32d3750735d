"""Systems by name: the default engine `porism`, or a class or function of the user's own, `my_module:MyRetriever`."""

from __future__ import annotations

import importlib
import sys
from difflib import get_close_matches
from pathlib import Path

from porism.errors import PorismError
from porism.search.answers.model import Model
from porism.search.default import porism, porism_formulas
from porism.search.features.feature import Kind
from porism.search.index import Index
from porism.search.retriever import Retriever

DEFAULT = "porism"
TASKS = (1, 2)


def load_system(
    name: str, index: Index, task: int = 1, kind: Kind = "answers", model: Model | None = None
) -> Retriever:
    """Return the system with a name, over an opened index. `kind` and `model` concern the default engine only."""
    if name == DEFAULT:
        return porism_formulas(index) if task == 2 else porism(index, kind, model)
    if ":" not in name:
        near = get_close_matches(name, [DEFAULT], 1)
        hint = f"did you mean {near[0]}?" if near else "name porism, or a class of your own: my_module:MyRetriever"
        raise PorismError(f"no system is named {name}", fix=hint)
    return _own_system(name, index)


def _own_system(name: str, index: Index) -> Retriever:
    """Import a user's class, or function that returns a retriever, and call it with the index."""
    module_name, _, class_name = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:  # a file in the current folder is found, as `python -m` finds it
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        fix = f"run the command in the folder of {module_name.replace('.', '/')}.py, or install the package"
        raise PorismError(f"cannot import {module_name}: {error}", where=name, fix=fix) from None
    made = getattr(module, class_name, None)
    if made is None:
        names = [one for one in vars(module) if not one.startswith("_")]
        near = get_close_matches(class_name, names, 1)
        fix = f"did you mean {module_name}:{near[0]}?" if near else f"define class {class_name} there"
        raise PorismError(f"{module_name} has no {class_name}", where=name, fix=fix)
    system = made(index) if callable(made) and not isinstance(made, Retriever) else made
    if not isinstance(system, Retriever):
        raise PorismError(
            f"{class_name} is not a Retriever", where=name, fix="derive it from porism.search.retriever.Retriever"
        )
    return system
