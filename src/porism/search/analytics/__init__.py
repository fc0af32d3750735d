"""Search analytics without personal data: what was searched and what was clicked."""
