"""Systems as declarations: reading them, making their parts, describing them."""
