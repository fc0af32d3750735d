"""Search for answers and questions: candidates, features, the model that weighs them, explanations."""
