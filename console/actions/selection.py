"""Selection: what an action acts on, as the form sent it, checked and bounded.

A selection knows its number and its names, what its confirmation sends again, and how the engine's answer is recorded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from typing import Any, ClassVar, Self

import msgspec
from django.core.exceptions import SuspiciousOperation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, override

from console.actions.catalog import Action
from console.audit.log import STORED, judge
from console.models import AuditEntry, Outcome
from console.ui.formatting import count
from console.ui.kind_pages import RecordWords, words_of_record
from queueops import inspect
from queueops.errors import QueueOpsError
from queueops.inspect import REACHING, TaskDetail, TaskRow, detail
from queueops.model.ids import ID, NAME

MOST = 500  # the most for one call of queueops.control
AT_ONCE = 20  # up to here an action may run without a question, and each task is read for its side effects
MOST_BEFORE = 100
"""More than a page shows, so that all tasks selected there can be undone."""


class Choice(msgspec.Struct, frozen=True, dict=True):
    """Selected tasks as (pool, id), without duplicates, in the order of the form; the base of other selections.

    `rows` are the tasks themselves, if the request has read them already.
    """

    tasks: tuple[tuple[str, str], ...]
    rows: tuple[TaskRow | TaskDetail, ...] = ()

    question: ClassVar[str] = "confirm.html"
    """The template of the confirmation page."""
    asks_reason: ClassVar[bool] = False
    """Whether the confirmation page asks for a reason, whatever the action is."""
    has_name: ClassVar[bool] = False
    """Whether its number is a name, which keeps its small letter at the begin of a button."""

    @classmethod
    def parse(cls, values: Iterable[str]) -> Self:
        """Parse the values of checkboxes, `<pool> <id>`."""
        tasks = tuple(dict.fromkeys(_task(value) for value in values))
        if len(tasks) > MOST:
            raise SuspiciousOperation(_("At most %(most)d tasks can be selected at once.") % {"most": MOST})
        return cls(tasks)

    @classmethod
    def of(cls, *rows: TaskRow | TaskDetail) -> Self:
        """Select tasks that the request has read."""
        return cls(tuple((row.pool, row.id) for row in rows), rows)

    def __len__(self) -> int:
        return len(self.tasks)

    @cached_property
    def found(self) -> dict[str, TaskRow | TaskDetail]:
        """The tasks as they were before the action; each is read once, with a call of its own."""
        read = self.rows or (detail.brief(id, pool) for pool, id in self.tasks)
        return {name: task for name, task in zip(self.values, read, strict=True) if task is not None}

    @property
    def values(self) -> list[str]:
        """The selection as values of checkboxes."""
        return [f"{pool} {id}" for pool, id in self.tasks]

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The names and values of the fields that select the same again."""
        pools = [("pool", pool) for pool, _id in self.tasks] if len(self.tasks) == 1 else []
        return [*pools, *(("task", value) for value in self.values)]

    def by_pool(self) -> dict[str, list[str]]:
        """The ids of the tasks, by pool."""
        ids: dict[str, list[str]] = defaultdict(list)
        for pool, id in self.tasks:
            ids[pool].append(id)
        return ids

    def title(self) -> str:
        """The id of a single task, or the number of tasks."""
        return self.tasks[0][1] if len(self) == 1 else Choice.number(self)

    def number(self) -> str:
        """What the action acts on, with its number: the words of the button that confirms."""
        return numbered(len(self), self.words)

    @cached_property
    def words(self) -> RecordWords | None:
        """The own words of the record of all these tasks; None if it has none, or if they cannot be read."""
        if not self.rows and len(self) > MOST_BEFORE:
            return None
        first = ""
        with suppress(QueueOpsError):  # the action itself tells of an outage
            for task in self.rows or (detail.brief(id, pool) for pool, id in self.tasks):
                if task is None or words_of_record(task.kind) is None or (first and task.kind != first):
                    return None
                first = task.kind
            return words_of_record(first)
        return None

    def all_of_them(self) -> str:
        """What the title of the question names, if its record has own words; else empty."""
        return ""

    def target(self) -> str:
        """The target in the audit log."""
        with override(STORED):
            return self.title()

    def facts(self) -> dict[str, Any]:
        """The facts of the audit entry that are known without the store."""
        return {"tasks": self.tasks}

    def before(self) -> dict[str, Any]:
        """The facts of each task that an undo needs; read only for a few tasks, because each needs a call."""
        if not self.rows and len(self) > MOST_BEFORE:
            return {}
        return {
            name: {
                "state": task.state,
                "name": task.name,
                "due_ms": task.due_ms,
                "lane": task.lane,
                "priority": task.priority,
                **({"parent": task.parent} if task.parent else {}),
                **({"kind": task.kind} if words_of_record(task.kind) is not None else {}),
            }
            for name, task in self.found.items()
        }

    def effects(self, verb: str) -> tuple[str, ...]:
        """One sentence for each side effect on other tasks; for more than AT_ONCE tasks their general rule."""
        if verb not in REACHING:
            return ()
        if len(self) > AT_ONCE:
            return inspect.effects_on_many(verb, self.by_pool())
        tasks = (task for task in self.found.values() if isinstance(task, TaskDetail))
        return tuple(dict.fromkeys(effect for task in tasks for effect in inspect.effects(verb, task)))

    def always_asks(self, verb: str) -> bool:
        """Whether the action is confirmed also without side effects."""
        return False

    def expected(self, sent: str) -> int:
        """The number that a confirmation must name; `sent` is the number that it names."""
        return len(self)

    def act(self, action: Action, entry: AuditEntry, values: dict[str, Any]) -> None:
        """Make the action's call, and store the engine's answer in the audit entry."""
        entry.before |= self.before()
        for pool, ids in self.by_pool().items():
            judge(entry, pool, action.call(ids, pool=pool, who=entry.actor_name, token=entry.token, **values))


class Thing(Choice, frozen=True, kw_only=True):
    """One thing that is not a task: a lane, a name or a worker, with its facts before and after the action."""

    was: dict[str, Any]
    becomes: dict[str, Any]
    told: tuple[str, ...]

    has_name: ClassVar[bool] = True

    @classmethod
    def named(
        cls, pool: str, name: str, was: dict[str, Any], becomes: dict[str, Any], told: tuple[str, ...] = ()
    ) -> Self:
        """The thing of this name, without a pool if it belongs to none; `told` are the side effects."""
        return cls(((pool, name),), was=was, becomes=becomes, told=told)

    def number(self) -> str:
        """The name: there is one such thing."""
        return self.tasks[0][1]

    def target(self) -> str:
        """The pool, if there is one, and the name."""
        return "/".join(filter(None, self.tasks[0]))

    def facts(self) -> dict[str, Any]:
        """The facts before the action."""
        return {"before": self.was}

    def effects(self, verb: str) -> tuple[str, ...]:
        """What was told at its making."""
        return self.told

    def act(self, action: Action, entry: AuditEntry, values: dict[str, Any]) -> None:
        """Make the call; the answer False means that the thing was not found."""
        if action.call(*self.tasks[0], who=entry.actor_name, **values) is False:
            entry.outcome, entry.detail = Outcome.REFUSED, _("it does not exist any more")
        else:
            entry.after = self.becomes


class Pool(Thing, frozen=True, kw_only=True):
    """A pool whose lanes are paused or resumed: the audit entry has the lanes that were changed."""

    def act(self, action: Action, entry: AuditEntry, values: dict[str, Any]) -> None:
        """Make the call; the lanes are noted one by one, so that an interrupted call can be undone, too."""
        changed = entry.before["lanes"] = list[str]()
        action.call(self.tasks[0][1], note=changed.append)
        entry.after = self.becomes


class Trash(Thing, frozen=True, kw_only=True):
    """The trash of a pool: a large one is emptied in several clicks."""

    def act(self, action: Action, entry: AuditEntry, values: dict[str, Any]) -> None:
        """Make the call; the audit entry has the number of tasks that are gone."""
        emptied = action.call(self.tasks[0][1])
        entry.changed = emptied.deleted
        if emptied.left:
            entry.outcome = Outcome.PARTLY
            left = ngettext(
                "%(n)s deleted task is left in the trash. Empty it again",
                "%(n)s deleted tasks are left in the trash. Empty it again",
                emptied.left,
            )
            entry.detail = left % {"n": count(emptied.left)}


def numbered(number: int, words: RecordWords | None) -> str:
    """So many tasks, by the own words of their record if it has some."""
    shown = count(number)
    if words is not None:
        return words.number(number, shown)
    return ngettext("%(n)s task", "%(n)s tasks", number) % {"n": shown}


def _task(value: str) -> tuple[str, str]:
    pool, space, id = value.partition(" ")
    if not space or not ID.fullmatch(id) or (pool and not NAME.fullmatch(pool)):
        raise SuspiciousOperation(_("The selection could not be read. Select the tasks again."))
    return pool, id
