"""Search for answers and questions: the features of candidates, the model that weighs them, explanations."""
