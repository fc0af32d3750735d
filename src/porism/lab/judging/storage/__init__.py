"""The journal on disk: its tables, checksums and checks."""
