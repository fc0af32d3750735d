"""The settings of a site, as sections of frozen records. Each setting has a kind, a default and a sentence that
explains it.

The reader of settings files, the help of the command line, the reference page and the template are all made from these
records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from itertools import groupby
from typing import Any

from porism.web.site import values
from porism.web.site.values import SettingKind

TABS = ("answers", "questions", "formulas", "ask")
MENU = ("search", "statistics", "ask", "api")
SORTS = ("relevance", "votes", "date")
LARGEST = 1_000_000


def setting(default: Any, kind: SettingKind, doc: str) -> Any:
    """Return the field of a setting."""
    return field(default=default, metadata={"kind": kind, "doc": doc})


@dataclass(frozen=True, slots=True)
class Identity:
    """What the site is called and where it is."""

    title: str = setting("Porism", values.TEXT, "name of the site, in the header and in the titles of pages")
    heading: str = setting("Search mathematics", values.TEXT, "heading of the start page")
    base_url: str = setting(
        "", values.ORIGIN, "public address of the site; feeds, files and citations use it, and its host name is allowed"
    )
    logo: str = setting("", values.PATH, "picture beside the title: a PNG, WebP or SVG file of at most 200 KB")
    attribution: str = setting("", values.TEXT, "line at the foot of every page: whose posts these are")


@dataclass(frozen=True, slots=True)
class Licence:
    """A licence: its name, and the address of its text."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class Posts:
    """Where the posts come from, and what readers may do with them."""

    site: str = setting("", values.HOST, "host of the site that the posts come from; pages link to the originals there")
    original_link: str = setting(
        "",
        values.PATTERN,
        "address of the original of a post, with {id}, {kind} (question or answer) and {letter} (q or a)",
    )
    licence: str = setting("", values.TEXT, "name of the licence of all posts")
    licence_url: str = setting("", values.URL, "address of the text of the licence")
    remote_images: bool = setting(False, values.YES, "show pictures in posts from other machines")


@dataclass(frozen=True, slots=True)
class Colours:
    """Colours; what is left out stays as it is."""

    accent: str = setting("", values.COLOUR, "links and buttons")
    background: str = setting("", values.COLOUR, "behind everything")
    surface: str = setting("", values.COLOUR, "behind hits, posts and the search box")
    text: str = setting("", values.COLOUR, "text")
    muted: str = setting("", values.COLOUR, "less important text")
    border: str = setting("", values.COLOUR, "lines")
    highlight: str = setting("", values.COLOUR, "behind matching words and formulas")


@dataclass(frozen=True, slots=True)
class Pages:
    """What the pages offer."""

    tabs: tuple[str, ...] = setting(TABS, values.some_of(*TABS), "tabs of a search, in this order")
    menu: tuple[str, ...] = setting(MENU, values.some_of(*MENU), "links in the header, in this order")
    default_sort: str = setting("relevance", values.one_of(*SORTS), "order of hits unless the reader chooses another")
    experiment: str = setting("", values.PATH, "folder with qrels.txt and runs/: the site has a leaderboard of them")
    assess_url: str = setting("", values.URL, "address of the assessment server, as a link in the header")


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Where the server listens, and how it serves."""

    host: str = setting("127.0.0.1", values.ADDRESS, "address to listen on")
    port: int = setting(8100, values.whole(0, 65_535), "port to listen on; 0 picks a free one")
    names: tuple[str, ...] = setting((), values.HOSTS, "host names of the server besides localhost")
    cors: tuple[str, ...] = setting((), values.ORIGINS, "origins whose pages may call the API; * allows all")
    workers: int = setting(0, values.whole(0, 256), "number of processes; 0 means one per core, at most 4")
    log_format: str = setting("text", values.one_of("text", "json"), "format of the log on standard error")


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """How much a request may take."""

    seconds: float = setting(10.0, values.SECONDS, "time limit of a query")
    queue: int = setting(32, values.whole(0, LARGEST), "queries that may wait in each process; more are refused")
    connections: int = setting(1000, values.whole(1, LARGEST), "connections that each process keeps open")
    idle_seconds: float = setting(15.0, values.SECONDS, "close a connection without a request after this time")
    frozen_seconds: float = setting(5.0, values.SECONDS, "replace a process without a sign of life after this time")
    stop_seconds: float = setting(10.0, values.SECONDS, "time for requests to finish after SIGTERM")


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A language model that phrases answers. Its API key is in the environment variable PORISM_ENDPOINT_KEY."""

    url: str = setting("", values.URL, "chat-completions address; without one, nothing is generated")
    model: str = setting("default", values.TEXT, "name of the model")
    seconds: float = setting(60.0, values.SECONDS, "time for a whole answer; the API waits no longer than for a query")


@dataclass(frozen=True, slots=True)
class Access:
    """Who may read the site. Without a header and without a user file, everyone who can reach it."""

    header: str = setting("", values.HEADER, "request header in which a reverse proxy names the user it has admitted")
    proxies: tuple[str, ...] = setting(
        ("127.0.0.1/32", "::1/128"), values.NETWORKS, "addresses of the proxies whose header is trusted"
    )
    users: str = setting("", values.PATH, "file of users and passwords, made by porism site users")


@dataclass(frozen=True, slots=True)
class SiteSettings:
    """All settings of a site. A section is a table of the settings file."""

    site: Identity = Identity()
    posts: Posts = Posts()
    theme: Colours = Colours()
    dark: Colours = Colours()
    pages: Pages = Pages()
    server: ServerOptions = ServerOptions()
    limits: RequestLimits = RequestLimits()
    endpoint: LanguageModel = LanguageModel()
    access: Access = Access()


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as the table lists it."""

    section: str
    name: str
    kind: SettingKind
    default: Any
    doc: str

    @property
    def key(self) -> str:
        """Return the full name, as `--set` takes it."""
        return f"{self.section}.{self.name}"


@cache
def all_settings() -> dict[str, Setting]:
    """Return all settings by key, in the order of the sections."""
    table = {}
    for section in fields(SiteSettings):
        for one in fields(getattr(SiteSettings(), section.name)):
            made = Setting(section.name, one.name, one.metadata["kind"], one.default, one.metadata["doc"])
            table[made.key] = made
    return table


def section_doc(section: str) -> str:
    """Return the sentences that explain a section."""
    if section == "dark":
        return "Colours for readers whose device shows dark pages; what is left out stays as it is."
    return type(getattr(SiteSettings(), section)).__doc__ or ""


def toml_text(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"{value:g}"
    if isinstance(value, tuple):
        return f"[{', '.join(toml_text(one) for one in value)}]"
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _sections() -> Iterator[tuple[str, list[Setting]]]:
    for section, group in groupby(all_settings().values(), lambda made: made.section):
        yield section, list(group)


def template_text() -> str:
    """Return a settings file that changes nothing: every setting with its default, as a comment."""
    lines = [
        "# The settings of a Porism site. Remove the # before a line to change a setting.",
        "# Check the file: porism serve INDEX --site site.toml --check",
    ]
    for section, group in _sections():
        lines += ["", f"[{section}]", f"# {section_doc(section)}"]
        for made in group:
            lines.append(f"# {made.doc[:1].upper()}{made.doc[1:]} ({made.kind.name}).")
            lines.append(f"#{made.name} = {toml_text(made.default)}")
    return "\n".join(lines) + "\n"


def reference_page() -> str:
    """Return the reference page in Markdown."""
    parts = [
        "# Settings of a site\n\n`make docs` writes this page from the table of settings.\n\n"
        "`porism serve INDEX --site site.toml` reads them from a TOML file; `--set KEY=VALUE` sets one of them, "
        "`--set site.title=Notes`. An option of the command line wins over `--set`, and both over the file. "
        "`porism serve --site site.toml --check` lists everything that is wrong with the file, with line numbers, and "
        "`porism serve --print-settings` writes a template. Relative paths start at the folder of the file.\n"
    ]
    for section, group in _sections():
        rows = "| setting | value | default | what |\n|---|---|---|---|\n"
        for made in group:
            default = "" if made.default in ("", ()) else f"`{toml_text(made.default)}`"
            rows += f"| `{made.key}` | {made.kind.name} | {default} | {made.doc} |\n"
        parts.append(f"## {section}\n\n{section_doc(section)}\n\n{rows}")
    return "\n".join(parts)
