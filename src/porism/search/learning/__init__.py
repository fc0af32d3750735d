"""What is learned from judged topics: weights of features, and what a model gives."""
