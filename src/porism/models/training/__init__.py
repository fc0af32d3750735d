"""Train small models on a processor: bi-encoders by contrast with other texts, cross-encoders on pairs. The result is a model directory."""
