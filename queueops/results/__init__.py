"""Results: handles, how a caller waits for them, and how the end of a task is told."""
