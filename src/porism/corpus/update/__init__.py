"""Changes of a collection: posts are added, replaced and deleted in a new part; the parts before it stay as they
are."""
