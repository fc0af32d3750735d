"""A store in a folder: mapped files of terms, documents and formulas, beside their collection."""
