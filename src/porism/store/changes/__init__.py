"""Changes of an index that is being served: a durable log, and what applies it."""
