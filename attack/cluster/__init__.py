"""A real OpenSearch cluster on this machine, for tests and trials."""
