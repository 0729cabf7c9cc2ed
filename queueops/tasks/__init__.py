"""Task definition: decorators, classes, options and the context of a running task."""
