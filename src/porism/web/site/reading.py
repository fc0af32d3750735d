"""Read the settings of a site: a TOML file, `--set KEY=VALUE`, options. All problems are reported with their lines."""

from __future__ import annotations

import difflib
import ipaddress
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from porism.accounts import UserFile
from porism.errors import PorismError
from porism.store import open_store
from porism.web.site.look import faint_texts, read_logo
from porism.web.site.settings import Setting, SiteSettings, all_settings
from porism.web.site.values import AA

LARGEST_FILE = 200_000
MOST_PARTS = 100  # of a key such as site.title
OTHER_SIGNS = re.compile(r"[^\w. \t-]")  # those that are in no key
HEADER = re.compile(r"\s*\[\s*([A-Za-z0-9_.\"' -]+?)\s*\]\s*(?:#.*)?$")
KEY = re.compile(r"\s*([A-Za-z0-9_\"'-]+(?:\s*\.\s*[A-Za-z0-9_\"'-]+)*)\s*=")
PLACE = re.compile(r"(.*?) \(at (?:line (\d+), column \d+|end of document)\)")
CHECK = "porism serve --site FILE --check lists all problems"


@dataclass(frozen=True, slots=True)
class GivenSetting:
    """A value that the owner gave: its key, the place it comes from, and the folder that relative paths start at."""

    key: str
    value: object
    where: str
    folder: Path


@dataclass(frozen=True, slots=True)
class SettingsReading:
    """Settings as read, the places of the values, and all problems. Settings with problems have their defaults."""

    settings: SiteSettings
    places: Mapping[str, str]
    problems: tuple[PorismError, ...] = ()

    def checked(self) -> SiteSettings:
        """Return the settings, or raise the first problem as an error."""
        if self.problems:
            first, *rest = self.problems
            more = f" ({len(rest)} more; {CHECK})" if rest else ""
            raise PorismError(first.message, where=first.where, fix=first.fix + more)
        return self.settings


def read_settings(
    file: Path | None = None, assignments: Sequence[str] = (), options: Sequence[GivenSetting] = ()
) -> SettingsReading:
    """Read settings. Later values win: those of `assignments` (KEY=VALUE) over the file, those of options over both."""
    problems: list[PorismError] = []
    given = [
        *(_from_file(file, problems) if file else ()),
        *(one for text in assignments if (one := _from_assignment(text, problems))),
        *options,
    ]
    found: dict[str, Any] = {}
    places: dict[str, str] = {}
    for one in given:
        made = all_settings().get(one.key)
        if made is None:
            problems.append(_unknown(one))
            continue
        try:
            found[one.key] = made.kind.read(one.value, one.folder)
            places[one.key] = one.where
        except PorismError as error:
            problems.append(PorismError(f"{one.key} {error.message}", where=one.where, fix=error.fix))
    changed: dict[str, dict[str, Any]] = {section.name: {} for section in fields(SiteSettings)}
    for key, value in found.items():
        section, _, name = key.partition(".")
        changed[section][name] = value
    sections = {section: replace(getattr(SiteSettings(), section), **values) for section, values in changed.items()}
    return SettingsReading(SiteSettings(**sections), places, tuple(problems))


def _from_file(file: Path, problems: list[PorismError]) -> Iterator[GivenSetting]:
    try:
        if file.stat().st_size > LARGEST_FILE:
            fix = f"name a settings file of at most {LARGEST_FILE:,} bytes"
            raise PorismError("too large", where=str(file), fix=fix)
        text = file.read_text("utf-8-sig")
        document = _parsed(text)
    except OSError as error:
        fix = "name a settings file; porism serve --print-settings writes a template"
        raise PorismError(f"cannot be read: {error.strerror}", where=str(file), fix=fix) from None
    except UnicodeDecodeError:
        raise PorismError("not UTF-8", where=str(file), fix="convert the file to UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        found = PLACE.fullmatch(str(error))
        line = (found[2] if found else None) or str(text.count("\n") + 1)
        fact = found[1] if found else str(error)
        fact = f"is not TOML: {fact[:1].lower()}{fact[1:]}"
        problems.append(PorismError(fact, where=f"{file}:{line}", fix='write lines such as title = "Notes"'))
        return
    lines = key_lines(text)
    for key, value in _leaves(document):
        known = key
        while known and known not in lines:  # then the line of the table that holds it
            known = known.rpartition(".")[0]
        yield GivenSetting(key, value, f"{file}:{lines.get(known, 1)}", file.absolute().parent)


def _parsed(text: str) -> dict[str, Any]:
    """Return a document of TOML. What makes the parser fail or takes it quadratic time is a syntax error, too."""
    if any(part.count(".") > MOST_PARTS for part in OTHER_SIGNS.split(text)):
        raise tomllib.TOMLDecodeError("a key has too many parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:
        raise tomllib.TOMLDecodeError("a number has too many digits") from None
    except RecursionError:
        raise tomllib.TOMLDecodeError("lists or tables are nested too deeply") from None


def _leaves(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, object]]:
    """Yield keys with their values. A table of an unknown name is one value, so that it is one problem."""
    sections = {made.section for made in all_settings().values()}
    for name, value in table.items():
        if not before and isinstance(value, dict) and name in sections:
            yield from _leaves(value, f"{name}.")
        else:
            yield f"{before}{name}", value


def key_lines(text: str) -> dict[str, int]:
    """Return the line of each key and section of a TOML text. Keys inside of inline tables have none."""
    lines: dict[str, int] = {}
    section, quote = "", ""
    for number, line in enumerate(text.splitlines(), 1):
        if quote:  # inside of a text of several lines
            quote = "" if quote in line else quote
            continue
        if found := HEADER.match(line):
            section = _plain(found[1])
            lines.setdefault(section, number)
        elif found := KEY.match(line):
            key = _plain(found[1])
            lines.setdefault(f"{section}.{key}" if section else key, number)
        for mark in ('"""', "'''"):
            if line.count(mark) % 2:
                quote = mark
    return lines


def _plain(key: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in key.split("."))


def _from_assignment(text: str, problems: list[PorismError]) -> GivenSetting | None:
    key, equals, value = text.partition("=")
    if not equals:
        fix = "write the key, an equals sign and the value: --set site.title=Notes"
        problems.append(PorismError("has no value", where=f"--set {text}", fix=fix))
        return None
    made = all_settings().get(key.strip())
    return GivenSetting(key.strip(), parse_value(made, value.strip()), f"--set {key.strip()}", Path.cwd())


def parse_value(made: Setting | None, text: str) -> object:
    """Return the value of `--set` as TOML would have it: text without quotation marks, a list with commas."""
    if made is None or (made.kind.is_text and not made.kind.is_list):
        return text
    try:
        value: object = _parsed(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = [part for one in text.split(",") if (part := one.strip())] if made.kind.is_list else text
    return value


def _unknown(one: GivenSetting) -> PorismError:
    """Return the problem of a key that does not exist, with the nearest one that does."""
    keys = list(all_settings())
    name = one.key.rpartition(".")[2]
    near = [key for key in keys if key.rpartition(".")[2] == name]
    near = near or difflib.get_close_matches(one.key, keys, 1, 0.7)
    if not near:
        names = difflib.get_close_matches(name, [key.split(".")[1] for key in keys], 1)
        near = [key for key in keys if key.split(".")[1] in names]
    fix = f"did you mean {near[0]}?" if near else "porism serve --print-settings lists all settings"
    return PorismError(f"there is no setting {one.key!r}", where=one.where, fix=fix)


@dataclass(frozen=True, slots=True)
class CheckedSettings:
    """Everything that is wrong with settings, and what is allowed but risky."""

    problems: tuple[PorismError, ...]
    warnings: tuple[PorismError, ...]


def check_settings(reading: SettingsReading, index: str | None = None) -> CheckedSettings:
    """Check the settings of a site and the files that they name; also that an index can be opened, if one is named."""
    problems = [*reading.problems, *(problem for check in PROBLEMS for problem in check(reading))]
    if index is not None:
        try:
            open_store(index).status()
        except PorismError as error:
            problems.append(error)
    return CheckedSettings(tuple(problems), tuple(warning for check in WARNINGS for warning in check(reading)))


def _place(reading: SettingsReading, *keys: str) -> str:
    """Return where one of several settings was given."""
    return next((reading.places[key] for key in keys if key in reading.places), keys[0])


def _logo(reading: SettingsReading) -> Iterator[PorismError]:
    if path := reading.settings.site.logo:
        try:
            read_logo(path)
        except PorismError as error:
            yield PorismError(f"{error.message} ({path})", where=_place(reading, "site.logo"), fix=error.fix)


def _experiment(reading: SettingsReading) -> Iterator[PorismError]:
    path = reading.settings.pages.experiment
    if path and not Path(path).is_dir():
        place = _place(reading, "pages.experiment")
        yield PorismError(f"{path} is not a folder", where=place, fix="name a folder with qrels.txt and runs/")


def _licence(reading: SettingsReading) -> Iterator[PorismError]:
    if reading.settings.posts.licence_url and not reading.settings.posts.licence:
        fix = "give posts.licence its name, such as CC BY-SA 4.0"
        yield PorismError("the licence has an address but no name", where=_place(reading, "posts.licence_url"), fix=fix)


def _contrast(reading: SettingsReading) -> Iterator[PorismError]:
    for (text, behind), ratio in faint_texts(reading.settings).items():
        fact = f"{text} on {behind} has a contrast of {ratio:.2f}, and readers need {AA}"
        fix = "choose a darker colour for one of them and a lighter one for the other"
        yield PorismError(fact, where=_place(reading, text, behind), fix=fix)


def _users(reading: SettingsReading) -> Iterator[PorismError]:
    if path := reading.settings.access.users:
        try:
            if not UserFile(Path(path)).current().hashes:
                raise PorismError("has no users", where=path, fix=f"porism site users add {path} NAME")
        except PorismError as error:
            yield PorismError(f"{path}: {error.message}", where=_place(reading, "access.users"), fix=error.fix)


def _plain_http(reading: SettingsReading) -> Iterator[PorismError]:
    site = reading.settings
    try:
        is_local = ipaddress.ip_address(site.server.host).is_loopback
    except ValueError:
        is_local = site.server.host == "localhost"
    if site.access.users and not site.site.base_url.startswith("https:") and not is_local:
        fix = "put an HTTPS proxy before the server, and set site.base_url to its https address"
        yield PorismError("passwords would travel unencrypted", where=_place(reading, "access.users"), fix=fix)


def _lasting_sessions(reading: SettingsReading) -> Iterator[PorismError]:
    path = reading.settings.access.users
    if path and not os.access(Path(path).absolute().parent, os.W_OK):
        fact = f"the folder of {path} cannot be written, so that logging out does not end copied sessions"
        fix = "let the server write that folder (with systemd: ReadWritePaths=)"
        yield PorismError(fact, where=_place(reading, "access.users"), fix=fix)


def _private_cors(reading: SettingsReading) -> Iterator[PorismError]:
    site = reading.settings
    if site.server.cors and (site.access.users or site.access.header):
        fact = "pages of other origins cannot log in, so server.cors has no use on a private site"
        yield PorismError(fact, where=_place(reading, "server.cors"), fix="remove server.cors")


Check = Callable[[SettingsReading], Iterator[PorismError]]
PROBLEMS: tuple[Check, ...] = (_logo, _experiment, _licence, _users)
WARNINGS: tuple[Check, ...] = (_contrast, _plain_http, _lasting_sessions, _private_cors)
