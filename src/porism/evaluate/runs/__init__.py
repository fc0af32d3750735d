"""Run files: read, write, check, fix and fuse them."""
