"""Pages of chunks."""
