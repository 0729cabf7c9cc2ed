"""Terminal entries: the actions of terminal commands in the same audit log as those of the console."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from console.actions.operations import ENGINE, recorded_begin
from console.actions.selection import Choice
from console.audit import log
from console.models import AuditEntry, Outcome
from queueops.management.queue.audit import Act


@contextmanager
def keep(done: Act) -> Iterator[None]:
    """Write an entry before the action, and its outcome afterwards, even after an error."""
    if done.most:
        with _operations_kept(done):
            yield
        return
    choice = Choice(tuple((done.pool, id) for id in done.ids))
    target = done.target or choice.title()
    facts: dict[str, Any] = {"filter": done.filter, "before": done.before, "after": done.after, "reason": done.reason}
    facts["address"] = log.plain_address(done.address)
    with log.written(done.verb, target, choice.tasks, actor_name=done.who, **facts) as entry:
        done.token = entry.token
        if choice:
            entry.before = done.before | choice.before()
        yield
        entry.after = dict(done.after)
        log.judge(entry, done.pool, done.rows)
        _judge_others(entry, done)


def _judge_others(entry: AuditEntry, done: Act) -> None:
    """Judge an action that is not about tasks by its own answer, as it has no rows."""
    if done.changed is not None:
        entry.changed = done.changed
    if done.refused:
        entry.outcome = Outcome.PARTLY if done.changed else Outcome.REFUSED
        entry.detail = log.kept(done.refused, log.DETAIL_LENGTH)


@contextmanager
def _operations_kept(done: Act) -> Iterator[None]:
    """The entry of an action by workers: the console reads its counts while they perform it, and writes its end."""
    facts: dict[str, Any] = {"filter": done.filter, "reason": done.reason, "count": done.most, "place": ENGINE}
    entry = log.new_entry(done.verb, done.target, actor_name=done.who, **facts)
    done.token = entry.token
    with recorded_begin(entry):
        yield
        entry.before = {"operations": [list(each) for each in done.operations]}
