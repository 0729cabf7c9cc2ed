"""The tree of a composite."""
