"""What the lexical systems share: documents, tokens, an inverted index."""
