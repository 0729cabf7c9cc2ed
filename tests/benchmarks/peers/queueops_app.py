"""QueueOps by its public API, in a Django project as its users have one."""

from collections.abc import Iterable

import django

django.setup()

from bench import tasks  # noqa: E402  the apps must be ready first


def push(task: str, number: int) -> None:
    """Queue one task."""
    getattr(tasks, task).push(number)


def push_text(_: str, text: str) -> None:
    """Queue one task with a long argument."""
    tasks.read.push(text)


def push_many(task: str, numbers: Iterable[int]) -> None:
    """Queue all in one call."""
    getattr(tasks, task).push_many([(number,) for number in numbers])


def run(task: str, number: int) -> None:
    """Queue one and wait until its result is known."""
    getattr(tasks, task).push(number).result(60)
