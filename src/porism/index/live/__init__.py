"""Changes of an index that is being served: a durable log, and the process that applies it."""
