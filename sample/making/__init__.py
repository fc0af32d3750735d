"""How the sample's hand-written source becomes a Stack Exchange dump and the lab's files."""
