"""Fuzzing: hostile inputs for every reader, each within limits of processor time and memory. `python -m attack.fuzz
--help`."""
