"""Systems of Task 3: parts that write one answer per topic, from the posts that a ranking names or with a language
model."""
