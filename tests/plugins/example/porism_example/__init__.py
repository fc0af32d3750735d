"""An example of a package that adds one of each to Porism: a system, a feature, a source, a store and a command."""
