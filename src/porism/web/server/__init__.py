"""The search server: the application, its processes, what it measures and records, and the demo."""
