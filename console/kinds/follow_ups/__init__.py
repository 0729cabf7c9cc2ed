"""Follow-ups: those of a task, and those that could not be pushed."""
