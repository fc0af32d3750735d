"""Verification of the named systems: run them on the test sets, compare with references and with the figures of the last time."""
