"""The migrations of the console."""
