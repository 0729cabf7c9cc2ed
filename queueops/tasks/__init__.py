"""What a project writes tasks with, and what a task meets while it runs."""
