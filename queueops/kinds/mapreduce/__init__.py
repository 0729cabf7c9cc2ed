"""Map-reduce tasks."""
