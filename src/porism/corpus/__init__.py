"""What a post is, and where it comes from: sources, building, changes, topics, exports."""
