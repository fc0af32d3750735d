"""Neural models from local directories: text in, numbers or text out. Needs the extra `neural` for exported models, and
`torch` for others; nothing is ever downloaded."""
