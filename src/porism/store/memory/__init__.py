"""A store in memory, written for clarity: what the embedded store computes, over plain dictionaries."""
