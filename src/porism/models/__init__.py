"""Neural models from local directories: text in, numbers or text out. Needs the extra `neural`; nothing is ever downloaded."""
