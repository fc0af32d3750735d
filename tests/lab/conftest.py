from __future__ import annotations

from lab_fixtures import case, cheap_passwords, journal

__all__ = ["case", "cheap_passwords", "journal"]
