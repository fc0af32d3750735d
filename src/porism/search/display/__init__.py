"""Hits as pages show them: passages, highlights, MathML for browsers, notebooks."""
