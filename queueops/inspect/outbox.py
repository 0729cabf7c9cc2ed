"""Outbox questions: pushes that wait in a database of the project, and those that were given up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from queueops import conf
from queueops.inspect.alarm import Alarm, danger, manage, warning
from queueops.inspect.answers import Answer
from queueops.inspect.spans import span
from queueops.model.redact import cut
from queueops.model.sentences import Figure, say, say_n
from queueops.tasks import outbox as outboxes

LATE_MS = 120_000
"""A row that waits for so long is an alarm."""
MOST = 200
MOST_COUNTED = 10_000
"""Rows are counted up to this number: a table may hold millions, and the alarms ask often."""


class OutboxFigures(Answer, frozen=True, kw_only=True):
    """The rows of one database: how many wait, for how long the oldest one, and how many were given up.

    10,000 stands for 10,000 or more.
    """

    database: str
    waiting: int
    dead: int
    waited_ms: int

    @property
    def waiting_words(self) -> str:
        """How many wait."""
        return _counted(self.waiting)

    @property
    def dead_words(self) -> str:
        """How many were given up."""
        return _counted(self.dead)


def _counted(number: int) -> str:
    shown = Figure(f"{number:,}")
    return say("%(number)s or more", number=shown) if number >= MOST_COUNTED else shown


class WaitingPush(Answer, frozen=True, kw_only=True):
    """A row of the outbox: the task `push` that is to be pushed. `form` is what it is written as."""

    TEXTS_OF_TASKS: ClassVar = ("error",)

    id: int
    database: str
    push: str
    name: str
    form: str
    pool: str
    lane: str
    created_ms: int
    dead: bool
    error: str = ""


class OutboxPage(Answer, frozen=True, kw_only=True):
    """The figures of each database, and rows of one of them, the oldest first; `next` continues them, 0 at the end."""

    databases: tuple[OutboxFigures, ...]
    database: str
    dead: bool
    rows: tuple[WaitingPush, ...]
    next: int = 0


def outbox_in_use() -> bool:
    """Whether the project has the app of the outbox."""
    return outboxes.is_installed()


def outbox_figures() -> tuple[OutboxFigures, ...]:
    """The rows of each database in numbers; nothing without the app. Raises the database's errors."""
    return tuple(outboxes.installed().figures()) if outboxes.is_installed() else ()


def outbox(*, dead: bool = False, database: str = "", after: int = 0, limit: int = 50) -> OutboxPage:
    """Rows that wait, or that were given up. Without a database, of the first one.

    Raises OutboxNotInstalled, and NoOutbox for a database without its tables.
    """
    found = outboxes.installed()
    figures = tuple(found.figures())
    database = database or next((each.database for each in figures), "default")
    limit = max(1, min(limit, MOST))
    rows = found.rows(database, dead=dead, after=after, limit=limit + 1)
    following = rows[limit - 1].id if len(rows) > limit else 0
    return OutboxPage(databases=figures, database=database, dead=dead, rows=tuple(rows[:limit]), next=following)


def outbox_alarms() -> Iterator[Alarm]:
    """Rows that wait for long, and rows that were given up, in each database. They are for the project's own store."""
    if conf.store_name():
        return
    try:
        found = outbox_figures()
    except Exception as error:  # of the database, whatever its driver raises; the store's alarms are told
        text = say("The outbox cannot be read: %(error)s.", error=cut(str(error).strip(), 200))
        yield danger(text, "health", manage("migrate"), key="outbox unread")
        return
    for each in found:
        if each.waited_ms >= LATE_MS:
            text = say_n(
                "%(count)s push waits in the outbox of the database %(database)s, the first for %(time)s. No watchdog"
                " sends them, or the store refuses them.",
                "%(count)s pushes wait in the outbox of the database %(database)s, the first for %(time)s. No watchdog"
                " sends them, or the store refuses them.",
                each.waiting,
                count=each.waiting_words,
                database=each.database,
                time=span(each.waited_ms),
            )
            yield danger(text, "outbox", manage("watchdog"), key=f"outbox {each.database}")
        if each.dead:
            text = say_n(
                "%(count)s push of the outbox was given up in the database %(database)s.",
                "%(count)s pushes of the outbox were given up in the database %(database)s.",
                each.dead,
                count=each.dead_words,
                database=each.database,
            )
            command = manage("queue", "outbox", "--dead", "--database", each.database)
            yield warning(text, "outbox?dead=1", command, key=f"outbox-dead {each.database}")
