"""Files of the index: columns, rows and records."""
