"""Operating a server: logs, metrics, slow queries, pages for the operator."""
