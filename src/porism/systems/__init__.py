"""Systems: retrievers by name, and the runs they make."""
