"""Judging on a Turkle server: export, upload, download and import."""
