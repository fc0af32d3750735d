from __future__ import annotations

from lab_fixtures import case, cheap_passwords, journal, sample_collection

__all__ = ["case", "cheap_passwords", "journal", "sample_collection"]
