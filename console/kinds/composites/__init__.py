"""Composites: the page with the tree of their parts."""
