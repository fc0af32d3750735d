"""Search for answers and questions: the features of candidates, weighed by a model."""
