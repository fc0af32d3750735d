"""A store in a folder: mapped files of terms, documents and formulas, beside the collection that they were built
from."""
