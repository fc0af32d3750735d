"""Generate a Stack Exchange dump and the lab's files from the hand-written source of the sample."""
