"""Task kinds that a worker can execute beside functions. Each registers its handlers in `queueops.tasks.registry`."""
