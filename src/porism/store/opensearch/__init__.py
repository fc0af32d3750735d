"""A store in an OpenSearch cluster."""
