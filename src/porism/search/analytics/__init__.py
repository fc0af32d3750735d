"""Search analytics without personal data: what was searched, what was clicked, and what can be learned from it."""
