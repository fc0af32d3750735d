"""The servers: search pages, the HTTP API, and the assessment server."""
