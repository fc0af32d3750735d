"""A collection on disk: one SQLite file with a digest, or several parts that are read as one."""
