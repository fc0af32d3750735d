"""Assessment: the journal, accounts, assignments, judgments, agreement and qrels."""
