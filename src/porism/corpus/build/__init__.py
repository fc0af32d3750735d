"""A collection is built in resumable stages: rows are selected, texts segmented, formulas parsed and numbered."""
