"""Chunks of map-reduce tasks: what is shown of them and what can be done."""
