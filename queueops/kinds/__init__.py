"""Task kinds that a worker can execute: one module each, which registers its handlers in `queueops.tasks.registry`."""
