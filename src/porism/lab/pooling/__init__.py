"""Pool runs: decide which items are judged, and keep the pool on disk."""
