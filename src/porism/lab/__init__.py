"""The procedures of the ARQMath lab: topics, submissions, pools, assessment and qrels."""
