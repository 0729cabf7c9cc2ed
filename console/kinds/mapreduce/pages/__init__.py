"""The pages of chunks."""
