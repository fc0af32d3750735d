"""Hits as pages show them: passages, highlights, explanations, MathML for browsers, notebooks."""
