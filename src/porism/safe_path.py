"""Code never comes from the current folder, which may hold documents of others: not here, and not in the processes that
Porism starts.

Python looks for modules in the current folder first: in interactive sessions, with `-c` and with `-m`. multiprocessing
starts processes with `-c`, and gives them the path of their parent. A file `json.py` among the documents would run.
Three things prevent that:

1. Imports that Porism causes skip the current folder (`guard_imports`); imports of the user's own code find what they
   always found.
2. The processes that Porism starts get `safe_path()` and `safe_environment()`.
3. The command `porism` leaves the current folder out for good (`protect_process`).

The current folder stays on the path where the user has put it there: as the folder of the program that runs, or in full
in PYTHONPATH."""

# This module is imported before all others. Python has loaded these already, whatever the current folder holds.
import os
import site
import sys
from _frozen_importlib_external import PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import FrameType, ModuleType

Identity = tuple[int, int]


def guard_imports() -> None:
    """Let imports that Porism causes skip the current folder from now on."""
    if PathFinder in sys.meta_path:
        sys.meta_path[sys.meta_path.index(PathFinder)] = _GuardedFinder


def protect_process() -> None:
    """Leave the current folder out of the path of this process and of all that it starts: the process is Porism's
    alone."""
    sys.path[:] = safe_path()
    os.environ.update(safe_environment())


def safe_path() -> list[str]:
    """Return the folders of `sys.path` without the current one."""
    refused = _identities((".", _STARTED_IN)) - _chosen()
    return [os.path.abspath(entry) for entry in sys.path if entry and _identity(entry) not in refused]


def safe_environment() -> dict[str, str]:
    """Return the environment for a new process. In it neither Python nor a search for programs looks into the current
    folder."""
    folders = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    kept = [os.path.abspath(entry) for entry in folders if os.path.isabs(entry) or _identity(entry) != _identity(".")]
    programs = [entry for entry in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(entry)]
    changes = {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(kept), "PATH": os.pathsep.join(programs)}
    return {**os.environ, **changes}


def program(name: str) -> str | None:
    """Return the place of a program, such as node, or None. A relative folder in PATH is not searched."""
    import shutil

    return shutil.which(name, path=safe_environment()["PATH"])


def import_own(module: str) -> "ModuleType":
    """Import a module that the user has named. It may be in the current folder, which comes last: nothing there
    replaces what is installed."""
    import importlib

    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    return importlib.import_module(module)


class _GuardedFinder(PathFinder):
    """Finds modules on the path; where Porism asks for one, not in the current folder."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if path is None and _has_current_folder() and _porism_asks(sys._getframe(1)):
            path = safe_path()
        return super().find_spec(fullname, path, target)


def _has_current_folder() -> bool:
    try:
        return "" in sys.path or os.getcwd() in sys.path
    except FileNotFoundError:  # the folder was removed
        return False


def _porism_asks(frame: "FrameType | None") -> bool:
    """Return whether the nearest code on the stack that is Porism's or the user's is Porism's. Libraries act for
    either."""
    here = _identity(".")
    while frame is not None:
        names = frame.f_globals
        if frame.f_code is import_own.__code__ or names.get("__name__") == "__main__":
            return False
        if str(names.get("__name__")).partition(".")[0] == "porism":
            return True
        if _identity(_root(names)) == here:
            return False
        frame = frame.f_back
    return False


def _chosen() -> set[Identity]:
    """Return the folders that stay on the path also if they are the current one."""
    in_full = (entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(entry))
    main = vars(sys.modules["__main__"])
    linked = {**main, "__file__": os.path.realpath(_file(main))} if _file(main) else main
    installed = (_root(vars(os)), *site.getsitepackages(), site.getusersitepackages())
    return _identities((_root(globals()), _root(main), _root(linked), *installed, *in_full))


def _root(module: "Mapping[str, object]") -> str:
    """Return the folder that must be on the path to find a module; empty for code without a file."""
    place = _file(module)
    name = str(getattr(module.get("__spec__"), "name", "") or module.get("__name__"))
    for _ in range(name.count(".") + 1 + ("__path__" in module)):
        place = os.path.dirname(place)
    return place


def _file(module: "Mapping[str, object]") -> str:
    """Return the file of a module; empty for code without one, as that of a session."""
    place = str(module.get("__file__") or "")
    return place if os.path.isabs(place) else ""


def _identities(folders: "Iterable[str]") -> set[Identity]:
    return {found for folder in folders if folder and (found := _identity(folder)) is not None}


def _identity(folder: str) -> Identity | None:
    """Return what is the same for all names of a folder; None if there is no such folder."""
    try:
        state = os.stat(folder)
    except (OSError, ValueError):
        return None
    return state.st_dev, state.st_ino


_STARTED_IN = os.getcwd() if _identity(".") else ""  # the folder that `python -m` has put on the path
