"""The index of posts: what is counted of each post, how it is written, and how it is read."""
