"""Canonical forms: one tree for all spellings that mean the same, at four levels."""

from __future__ import annotations

from porism.formula.canonical.forms import LEVELS, Canonical, Level, canonical

__all__ = ["LEVELS", "Canonical", "Level", "canonical"]
