"""Results: task handles, waiting for results, and messages about the end of tasks."""
