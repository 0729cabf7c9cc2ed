"""What a worker can execute: one module for each kind, which registers its handlers in `queueops.tasks.registry`."""
