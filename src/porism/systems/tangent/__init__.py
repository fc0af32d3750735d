"""Tangent-S: symbol pairs of layout and operator trees, then alignment of trees (Davila and Zanibbi, 2017)."""
