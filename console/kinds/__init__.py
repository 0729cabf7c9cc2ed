"""Pages of the kinds of tasks."""
