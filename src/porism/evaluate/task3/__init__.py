"""Task 3, open-domain answers: AR, P@1, lexical overlap and contextual similarity with references."""
