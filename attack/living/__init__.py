"""A site that lives: changes by the API under a search load while processes are killed, compared with an index built
from scratch."""
