"""Text with formulas: find them, split a text into segments, render it as HTML, plain text or the lab's form."""
