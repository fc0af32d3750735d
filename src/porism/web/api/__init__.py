"""The HTTP API: views, the table of endpoints with their parameters and results, and the calls that change an index."""
