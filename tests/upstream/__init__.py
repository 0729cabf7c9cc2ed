"""Django's own tests of its task framework, run against the backend of QueueOps."""
