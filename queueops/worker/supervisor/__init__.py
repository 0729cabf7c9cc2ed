"""Process supervision: starts the child processes of a worker, handles their crashes and their end."""
