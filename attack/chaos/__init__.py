"""Chaos: processes killed at random moments, damaged files, full disks, bad clients, hostile load. `python -m
attack.chaos --help`."""
