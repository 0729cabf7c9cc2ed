"""Tasks in the words of Django, which harm their worker."""

from __future__ import annotations

import os
import signal

try:
    from django.tasks import task
except ModuleNotFoundError:
    from django_tasks import task

from tests.faults.ledger import note, pass_gate


@task(takes_context=True)
def die_once(context):
    """Kill the process in the first attempt; later say which attempt it is, and who ran the task."""
    note("start")
    if context.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return [context.attempt, context.task_result.worker_ids]


@task()
def wait_at_gate(name):
    """Wait until the test opens a gate."""
    note("start")
    pass_gate(name)
    note("end")


@task()
def refused():
    """Fail."""
    raise ValueError("refused")
