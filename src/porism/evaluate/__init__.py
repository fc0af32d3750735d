"""Evaluation: rankings and judgments become numbers, tables, figures and reports."""
