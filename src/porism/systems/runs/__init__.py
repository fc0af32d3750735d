"""Runs of systems: making, continuing and recording them."""
