"""What an assessment gives: qrels and tables."""
