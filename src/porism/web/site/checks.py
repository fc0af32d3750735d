"""Check settings as a whole: files that are named, and combinations that are wrong or risky."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from porism.errors import PorismError
from porism.store import open_store
from porism.web.site.colours import AA
from porism.web.site.look import read_logo
from porism.web.site.readers import read_users
from porism.web.site.reading import Problem, SettingsReading
from porism.web.site.theme import faint_texts


@dataclass(frozen=True, slots=True)
class CheckedSettings:
    """Everything that is wrong with settings, and what is allowed but risky."""

    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


def check_settings(reading: SettingsReading, index: str | None = None) -> CheckedSettings:
    """Check the settings of a site and the files that they name; also that an index can be opened, if one is named."""
    problems = [*reading.problems, *(problem for check in PROBLEMS for problem in check(reading))]
    if index is not None:
        try:
            open_store(index).status()
        except PorismError as error:
            problems.append(Problem(error.where, error.message, error.fix))
    return CheckedSettings(tuple(problems), tuple(warning for check in WARNINGS for warning in check(reading)))


def _place(reading: SettingsReading, *keys: str) -> str:
    """Return where one of several settings was given."""
    return next((reading.places[key] for key in keys if key in reading.places), keys[0])


def _logo(reading: SettingsReading) -> Iterator[Problem]:
    if path := reading.settings.site.logo:
        try:
            read_logo(path)
        except PorismError as error:
            yield Problem(_place(reading, "site.logo"), f"{error.message} ({path})", error.fix)


def _experiment(reading: SettingsReading) -> Iterator[Problem]:
    path = reading.settings.pages.experiment
    if path and not Path(path).is_dir():
        place = _place(reading, "pages.experiment")
        yield Problem(place, f"{path} is not a folder", "name a folder with qrels.txt and runs/")


def _licence(reading: SettingsReading) -> Iterator[Problem]:
    if reading.settings.posts.licence_url and not reading.settings.posts.licence:
        fix = "give posts.licence its name, such as CC BY-SA 4.0"
        yield Problem(_place(reading, "posts.licence_url"), "the licence has an address but no name", fix)


def _contrast(reading: SettingsReading) -> Iterator[Problem]:
    for faint in faint_texts(reading.settings):
        keys = (f"{faint.section}.{faint.text}", f"{faint.section}.{faint.behind}")
        fact = f"{keys[0]} on {keys[1]} has a contrast of {faint.ratio:.2f}, and readers need {AA}"
        yield Problem(
            _place(reading, *keys), fact, "choose a darker colour for one of them and a lighter one for the other"
        )


def _users(reading: SettingsReading) -> Iterator[Problem]:
    if path := reading.settings.access.users:
        try:
            if not read_users(Path(path)).hashes:
                raise PorismError("has no users", where=path, fix=f"porism site users add {path} NAME")
        except PorismError as error:
            yield Problem(_place(reading, "access.users"), f"{path}: {error.message}", error.fix)


def _plain_http(reading: SettingsReading) -> Iterator[Problem]:
    site = reading.settings
    if site.access.users and not site.site.base_url.startswith("https:") and not _is_loopback(site.server.host):
        fix = "put an HTTPS proxy before the server, and set site.base_url to its https address"
        yield Problem(_place(reading, "access.users"), "passwords would travel unencrypted", fix)


def _lasting_sessions(reading: SettingsReading) -> Iterator[Problem]:
    path = reading.settings.access.users
    if path and not os.access(Path(path).absolute().parent, os.W_OK):
        fact = f"the folder of {path} cannot be written, so that logging out does not end copied sessions"
        fix = "let the server write that folder (with systemd: ReadWritePaths=)"
        yield Problem(_place(reading, "access.users"), fact, fix)


def _private_cors(reading: SettingsReading) -> Iterator[Problem]:
    site = reading.settings
    if site.server.cors and (site.access.users or site.access.header):
        fact = "pages of other origins cannot log in, so server.cors has no use on a private site"
        yield Problem(_place(reading, "server.cors"), fact, "remove server.cors")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


Check = Callable[[SettingsReading], Iterator[Problem]]
PROBLEMS: tuple[Check, ...] = (_logo, _experiment, _licence, _users)
WARNINGS: tuple[Check, ...] = (_contrast, _plain_http, _lasting_sessions, _private_cors)
