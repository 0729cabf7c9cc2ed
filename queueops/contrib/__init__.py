"""What connects QueueOps to other libraries."""
