"""How a worker process runs a task: threads, time limits, connections."""
