"""Reports of an experiment: tables in six formats, figures, one HTML page."""
