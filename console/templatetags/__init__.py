"""The template tags of the console."""
