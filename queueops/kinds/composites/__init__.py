"""Composites: chains, groups, iterators and templates."""
