"""What systems with pretrained models share: named models, texts as models read them, stored encodings, retrieval and
re-ranking by them."""
