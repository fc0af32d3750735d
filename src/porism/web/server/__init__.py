"""The search server: the application, its middleware, its processes, and the demo."""
