"""Sites that others wrote, with QueueOps as the backend of their tasks."""
