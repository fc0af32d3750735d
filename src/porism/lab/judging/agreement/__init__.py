"""How well assessors agree, and how long they take."""
