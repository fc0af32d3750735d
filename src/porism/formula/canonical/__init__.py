"""Canonical forms: one tree for notations that mean the same, at four named levels."""

from __future__ import annotations

from porism.formula.canonical.forms import LEVELS, Canonical, Level, canonical

__all__ = ["LEVELS", "Canonical", "Level", "canonical"]
