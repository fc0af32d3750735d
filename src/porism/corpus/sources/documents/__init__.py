"""Documents of people's own: each section becomes a post."""
