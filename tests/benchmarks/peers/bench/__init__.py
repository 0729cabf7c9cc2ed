"""The Django project that the benchmark's QueueOps runs in; its tasks have names of the usual length."""
