"""Look over an installation and an index: what is as it should be, what is not, and what to do."""
