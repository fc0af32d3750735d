"""Sources of posts: dumps, the lab's files, a slice of them, tables of formulas, folders of documents."""
