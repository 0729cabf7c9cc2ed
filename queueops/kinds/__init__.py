"""Kinds that QueueOps has. A new one is one folder and one line here."""

from __future__ import annotations

from queueops.kinds import composites, django_task, jobs, mapreduce, operations, workflows

KINDS = (mapreduce.KIND, composites.KIND, jobs.KIND, workflows.KIND, operations.KIND, django_task.KIND)
