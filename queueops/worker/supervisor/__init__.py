"""The supervisor of a worker: its child processes, their crashes and their end."""
