"""The HTTP API: a table of endpoints, their parameters, and the records they return."""
