"""The template of a settings file and the reference page of settings, both made from the table of settings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from porism.web.site.settings import Setting, all_settings, default_text, section_doc


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
            lines += [
                f"# {made.doc[:1].upper()}{made.doc[1:]} ({made.kind.name}).",
                f"#{made.name} = {default_text(made)}",
            ]
    return "\n".join(lines) + "\n"


def reference_page() -> str:
    """Return the reference page in Markdown."""
    parts = [
        "# Settings of a site\n\n`make docs` writes this page from the table of settings.\n\n"
        "`porism serve INDEX --site site.toml` reads them from a TOML file; `--set KEY=VALUE` sets one of them, `--set site.title=Notes`. "
        "An option of the command line wins over `--set`, and both over the file. `porism serve --site site.toml --check` lists everything that is "
        "wrong with the file, with line numbers, and `porism serve --print-settings` writes a template. Relative paths start at the folder of the file.\n"
    ]
    for section, group in _sections():
        rows = "\n".join(f"| `{made.key}` | {made.kind.name} | {_shown_default(made)} | {made.doc} |" for made in group)
        parts.append(
            f"## {section}\n\n{section_doc(section)}\n\n| setting | value | default | what |\n|---|---|---|---|\n{rows}\n"
        )
    return "\n".join(parts)


def _shown_default(made: Setting) -> str:
    return "" if made.default in ("", ()) else f"`{default_text(made)}`"
