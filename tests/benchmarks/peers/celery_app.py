"""celery: results kept, acknowledged early (its default and its fastest)."""

import os

import marks
from celery import Celery

URL = os.environ["BENCH_URL"]
app = Celery("bench", broker=URL, backend=URL)
app.conf.update(worker_hijack_root_logger=False, worker_prefetch_multiplier=16, broker_connection_retry_on_startup=True)
noop = app.task(marks.noop, name="noop")
nap = app.task(marks.nap, name="nap")


def push(task: str, number: int) -> None:
    """Queue one task."""
    globals()[task].delay(number)
