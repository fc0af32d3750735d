"""Temporary: the single-item calls, until all callers read batches."""

# mypy: ignore-errors
# ruff: noqa
from __future__ import annotations


class SingleItems:
    """Temporary."""

    def has_post(self, n):
        return n in self.known_posts([n])

    def post(self, n):
        return self.posts_by_id([n])[n]

    def answers(self, n):
        return self.answers_by_question([n]).get(n, [])

    def thread(self, n):
        return self.threads_by_id([n])[n]

    def comments(self, n):
        return self.comments_by_post([n]).get(n, [])

    def links(self, n):
        return self.links_by_post([n]).get(n, [])

    def title(self, n):
        return self.titles_by_id([n]).get(n)

    def formula(self, n):
        return self.formulas_by_id([n])[n]

    def formulas_of(self, n):
        return self.formulas_by_post([n]).get(n, [])

    def visuals_of(self, n):
        return self.visuals_by_post([n]).get(n, [])

    def expression(self, n):
        return self.expressions_by_id([n])[n]

    def expression_of(self, n):
        return self.expressions_by_formula([n])[n]

    def visual(self, n):
        return self.visuals_by_id([n])[n]

    def user(self, n):
        return self.users_by_id([n]).get(n) if n is not None else None

    def image(self, n):
        return self.images([n]).get(n)
