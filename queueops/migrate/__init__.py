"""Migration: `python -m queueops.migrate celery PATH` rewrites a project of Celery, RQ or Huey for QueueOps.

It reads source code only: it imports neither Django nor the project. A form that is not sure is left as it is, and
listed with its place, the reason and what to write.
"""
