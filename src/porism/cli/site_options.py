"""Options of the command line that give settings of a site. An option that is left out leaves the setting to the settings file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from porism.web.site.reading import SettingsReading

# Options with a name of their own, and the settings that they give.
KEYS = {
    "host": "server.host",
    "port": "server.port",
    "name": "server.names",
    "cors": "server.cors",
    "workers": "server.workers",
    "seconds": "limits.seconds",
    "queue": "limits.queue",
    "connections": "limits.connections",
    "idle_seconds": "limits.idle_seconds",
    "frozen_seconds": "limits.frozen_seconds",
    "log_format": "server.log_format",
    "stop_seconds": "limits.stop_seconds",
    "experiment": "pages.experiment",
    "assess_url": "pages.assess_url",
    "remote_images": "posts.remote_images",
    "endpoint": "endpoint.url",
    "endpoint_model": "endpoint.model",
    "endpoint_seconds": "endpoint.seconds",
}
SITE = "posts.site"  # --site NAME gives this setting, --site FILE.toml all of them


def add_site_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of settings, and let options that are left out have no value, so that the settings file decides."""
    parser.add_argument(
        "--site",
        action="append",
        metavar="FILE.toml|NAME",
        help="the settings file of the site; or the host that the posts come from, to link to the originals there",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a setting, such as site.title=Notes (repeat for several; docs/reference/settings.md lists all)",
    )
    parser.add_argument("--check", action="store_true", help="check the settings, print all problems, and end")
    parser.add_argument(
        "--print-settings", action="store_true", help="print a settings file with all defaults, and end"
    )
    for action in parser._actions:
        if action.dest in KEYS:
            action.help = (action.help or "").replace("%(default)s", str(action.default))
            action.default = None


def site_settings(args: argparse.Namespace) -> SettingsReading:
    """Read the settings of the file, of `--set`, and of the options; later ones win."""
    from porism.web.site.reading import Given, read_settings

    given = [
        Given(key, value, _option(name), Path.cwd())
        for name, key in KEYS.items()
        if (value := getattr(args, name)) is not None
    ]
    files = [name for name in args.site or () if name.endswith(".toml")]
    given += [Given(SITE, name, "--site", Path.cwd()) for name in args.site or () if not name.endswith(".toml")]
    return read_settings(Path(files[-1]) if files else None, args.set, given)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
