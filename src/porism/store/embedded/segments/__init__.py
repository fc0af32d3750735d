"""Segments: an index as a list of immutable parts with deletions, how it is read, changed and merged."""
