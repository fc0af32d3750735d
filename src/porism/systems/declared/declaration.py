"""Declarations of systems: what `systems.toml`, that of a plug-in, or a file of the user's own says of a run.

A declaration lists the parts of the pipeline with their options, what the run needs, its published scores, and what is
approximated."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

from porism.errors import PorismError, did_you_mean
from porism.plugins import SYSTEMS, Plugin, or_repair, working

Status = Literal["default engine", "exact", "verified by values", "own reading", "needs model"]
STATUSES = get_args(Status)
DATA = ("both", "text", "math", "links")
MEASURES = {1: ("nDCG'", "MAP'", "P'@10"), 2: ("nDCG'", "MAP'", "P'@10"), 3: ("AR", "P@1", "LO", "CS", "MG", "UI")}
AS_TASK3 = ("AR", "P@1")
SHIPPED = "systems.toml"
OWN_FILE = ".toml"


@dataclass(frozen=True, slots=True)
class PartUse:
    """A part of a pipeline by its name, and its options."""

    use: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.use}({', '.join(f'{name}={value!r}' for name, value in self.options.items())})"


@dataclass(frozen=True, slots=True)
class Declaration:
    """One run: who made it, for which task, from which parts. `published` maps a year to measures with their values."""

    name: str
    task: int
    parts: tuple[PartUse, ...] = ()
    year: int = 2022
    data: str = "both"
    manual: bool = False
    primary: bool = False
    status: Status = "own reading"
    needs: tuple[str, ...] = ()
    published: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    as_task3: Mapping[str, float] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    approximations: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()  # values that agree with those of the original program, with figures
    gap: str = ""  # why our scores are not in the order of the published ones
    automatic_query: str = ""
    printed: str = ""
    file: str = SHIPPED

    @property
    def is_published(self) -> bool:
        """Whether it is a run of the published tables; the default engine is not."""
        return bool(self.published)

    @property
    def run(self) -> str:
        """The run without its team."""
        return self.name.partition("/")[2] or self.name

    @property
    def models(self) -> tuple[str, ...]:
        """The models that the run needs."""
        return tuple(need.partition(":")[2].strip() for need in self.needs if need.startswith("model:"))

    @property
    def member_task(self) -> int:
        """The task of the systems that the run reads: Task 3 answers from the posts of a Task 1 system."""
        return 1 if self.task == 3 else self.task

    @property
    def members(self) -> tuple[str, ...]:
        """The systems that the run fuses, or reads."""
        return tuple(name for part in self.parts for name in part.options.get("of", ()))


@lru_cache
def shipped() -> tuple[Declaration, ...]:
    """Return the declarations that come with Porism, in the order of the tables."""
    text = files("porism.systems").joinpath(SHIPPED).read_text(encoding="utf-8")
    return tuple(parse_declarations(text, SHIPPED))


@lru_cache
def declared() -> tuple[Declaration, ...]:
    """Return the declarations of Porism, then those of plug-ins. The first with a name and a task wins."""
    found: dict[tuple[str, int], Declaration] = {}
    for declarations in (shipped(), *working(SYSTEMS, plugin_declarations)):
        for one in declarations:
            found.setdefault((one.name, one.task), one)
    return tuple(found.values())


def plugin_declarations(plugin: Plugin) -> tuple[Declaration, ...]:
    """Return the declarations of a plug-in, which names a package with a file `systems.toml`."""
    package = plugin.load()
    try:
        text = files(package).joinpath(SHIPPED).read_text(encoding="utf-8")
        return tuple(parse_declarations(text, f"{package.__name__}/{SHIPPED}"))
    except (OSError, UnicodeDecodeError) as error:
        raise plugin.broken(f"has no {SHIPPED} that can be read ({error})") from None
    except PorismError as error:
        raise plugin.broken(f"is declared wrongly ({error.where}: {error.message})") from None


def read_declarations(path: str | Path) -> tuple[Declaration, ...]:
    """Read the declarations of a file of the user's own."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise PorismError(f"cannot be read: {error.strerror}", where=str(path), fix="check the path") from None
    return tuple(parse_declarations(text, str(path)))


def parse_declarations(text: str, where: str) -> Iterator[Declaration]:
    """Yield the declarations of a TOML text, each a table [[run]]."""
    try:
        rows = tomllib.loads(text).get("run", [])
    except tomllib.TOMLDecodeError as error:
        raise PorismError(f"not TOML: {error}", where=where, fix="correct this place") from None
    if not rows:
        raise PorismError("declares no system", where=where, fix="write a table [[run]] with name, task and parts")
    for row in rows:
        yield _declaration(row, where)


def _declaration(row: Mapping[str, Any], where: str) -> Declaration:
    place = f"{where}: {row.get('name', '[[run]]')}"
    known = set(Declaration.__dataclass_fields__) - {"file"}
    for key in row:
        if key not in known:
            raise PorismError(f"unknown key {key}", where=place, fix=did_you_mean(key, known, "remove it"))
    for key, allowed in (("task", (1, 2, 3)), ("status", STATUSES), ("data", DATA)):
        if key in row and row[key] not in allowed:
            raise PorismError(f"{key} is {row[key]!r}", where=place, fix=f"write one of {', '.join(map(str, allowed))}")
    if not isinstance(row.get("name"), str) or "task" not in row:
        raise PorismError("has no name or no task", where=place, fix='write name = "team/run" and task = 1 or 2')
    values = dict(row)
    values["parts"] = tuple(_part(part, place) for part in row.get("parts", ()))
    for key in ("needs", "approximations", "checks"):
        values[key] = tuple(row.get(key, ()))
    names = MEASURES[row["task"]]
    values["published"] = {int(year): _scores(names, each) for year, each in row.get("published", {}).items()}
    values["as_task3"] = _scores(AS_TASK3, row.get("as_task3", ()))
    return Declaration(**values, file=where)


def _part(part: Mapping[str, Any], place: str) -> PartUse:
    if not isinstance(part, Mapping) or "use" not in part:
        raise PorismError("a part has no name", where=place, fix='write parts = [{ use = "terrier" }]')
    return PartUse(part["use"], {name: value for name, value in part.items() if name != "use"})


def _scores(names: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    return dict(zip(names, values, strict=False))


def find_declaration(name: str, task: int | None = None) -> Declaration:
    """Return the declaration with a name: `team/run`, the run alone where it is unambiguous, or `FILE.toml:team/run`.

    Blanks, brackets, hyphens and case do not matter. A run of two tasks needs `task`.
    """
    path, separator, rest = name.partition(f"{OWN_FILE}:")
    known = read_declarations(path + OWN_FILE) if separator else declared()
    wanted = rest if separator else name
    found = [one for one in known if one.name == wanted]
    found = found or [one for one in known if _key(wanted) in (_key(one.name), _key(one.run))]
    if not found:
        raise unknown_system(wanted, known)
    if len({one.name for one in found}) > 1:
        names = " or ".join(dict.fromkeys(one.name for one in found))
        raise PorismError(f"{wanted} is the name of several systems", fix=f"write {names}")
    fitting = [one for one in found if task is None or one.task == task]
    if not fitting:
        tasks = " and ".join(str(one.task) for one in found)
        fix = f"run it with --task {found[0].task}"
        raise PorismError(f"{found[0].name} is a system of Task {tasks}, not of Task {task}", fix=fix)
    if len(fitting) > 1:
        raise PorismError(f"{found[0].name} is a system of several tasks", fix="add --task 1 or --task 2")
    return fitting[0]


def _key(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter not in " ()-")


def unknown_system(name: str, known: Sequence[Declaration]) -> PorismError:
    """Return the error for a name that no system has, with a suggestion."""
    names = {**{_key(one.run): one.name for one in known}, **{_key(one.name): one.name for one in known}}
    near = get_close_matches(_key(name), names, 1)
    hint = f"did you mean {names[near[0]]}?" if near else "porism systems lists them; your own is my_module:MyRetriever"
    return PorismError(f"no system is named {name}", fix=f"{hint}{or_repair(SYSTEMS, plugin_declarations)}")
