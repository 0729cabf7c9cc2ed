"""Task execution in a worker process: threads, time limits, database connections."""
