"""First steps: what a new installation lacks before its first task has run, with the commands."""

from __future__ import annotations

from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from queueops import conf
from queueops.inspect import Snapshot


class Step(NamedTuple):
    """One step: its word, what to do, why, and the command or code that does it."""

    word: str
    label: str | Promise
    reason: str | Promise
    code: str
    done: bool


PUSH = """from queueops import task

@task()
def hello(name):
    return f"Hello {name}"

hello.push("Ada")"""


def first_steps(snapshot: Snapshot, *, known: bool) -> tuple[Step, ...]:
    """The steps; none once all are done, or if the store has ended tasks or a history (``known``).

    In another store the work is that of another project: its commands are not known here.
    """
    ended = any(snapshot.states.get(state) for state in ("succeeded", "failed", "cancelled"))
    steps = (
        Step(
            "worker",
            _("Start a worker"),
            _("A worker runs the tasks."),
            "python manage.py runworker",
            any(pool.workers for pool in snapshot.pools),
        ),
        Step(
            "watchdog",
            _("Start the watchdog"),
            _("The watchdog keeps time: delays, retries, schedules and lost workers."),
            "python manage.py watchdog",
            not snapshot.computed,
        ),
        Step(
            "push",
            _("Push the first task"),
            _("Write the task into tasks.py of an app, and push it from your code."),
            PUSH,
            any(snapshot.states.values()),
        ),
    )
    return () if known or ended or conf.store_name() or all(step.done for step in steps) else steps
