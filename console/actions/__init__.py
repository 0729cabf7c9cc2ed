"""Actions: what an operator can do to tasks, how it is confirmed, done and undone."""
