"""The editions of ARQMath as datasets: documents, queries and judgments as iterators of named tuples, read from the official files."""
