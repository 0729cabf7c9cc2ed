"""Scheduled tasks: their schedules are declared in code, and apply only in a running demo."""

from __future__ import annotations

import random
import time
from datetime import timedelta

from django.conf import settings
from django.db.models import Count, Sum
from django.utils import timezone

from queueops import Schedule, inspect, task
from queueops_demo.models import Reading

LONGEST_ROUND_S = 14


def in_demo(schedule: Schedule) -> Schedule | None:
    """The schedule, or none outside of a running demo."""
    return schedule if getattr(settings, "DEMO_SCHEDULES", False) else None


@task(name="demo.weigh_the_store", cron=in_demo(Schedule("*/10 * * * * *")), tags=["timely"])
def weigh_the_store() -> dict[str, int]:
    """Return the memory use and the number of tasks of the store."""
    found = inspect.snapshot()
    return {"bytes": found.redis.used_memory, "tasks": sum(found.states.values())}


@task(
    name="demo.minute_report",
    cron=in_demo(Schedule("* * * * *", zone="Europe/Berlin", jitter=10, args=["reading"])),
    tags=["timely"],
)
def minute_report(subject: str) -> dict[str, int | str]:
    """Sum up what was read in the last minute."""
    since = timezone.now() - timedelta(minutes=1)
    found = Reading.objects.filter(at__gte=since).aggregate(files=Count("pk"), words=Sum("words"))
    return {"subject": subject, "files": found["files"], "words": found["words"] or 0}


@task(name="demo.walk_around", cron=in_demo(Schedule("@every 5s", overlap="skip", catch_up="skip")), tags=["timely"])
def walk_around() -> float:
    """Sometimes run longer than the time between two ticks: these ticks are skipped."""
    seconds = random.uniform(1, LONGEST_ROUND_S)
    time.sleep(seconds)
    return round(seconds, 1)
