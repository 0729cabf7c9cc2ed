"""Dead follow-ups in a terminal: tasks that the end of another one should have pushed, and could not."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from queueops.inspect.dead_follow_ups import DeadFollowUp, dead_follow_ups
from queueops.management.arguments import positive
from queueops.management.queue.formatting import listing, moment
from queueops.management.queue.kind_commands import KindCommand
from queueops.management.queue.lookup import check_pool

HEAD = ("TASK", "NAME", "STATE", "POOL", "ON", "NOT PUSHED", "AT", "REASON")
GONE = "gone"
NONE = "Every follow-up was pushed."


def list_dead(*, pool: str, limit: int, as_json: bool, **_: Any) -> Iterator[str]:
    """The follow-ups that could not be pushed, the latest first."""
    check_pool(pool)
    return listing(dead_follow_ups(pool, limit), HEAD, _line, empty=NONE, as_json=as_json)


def _line(row: DeadFollowUp) -> tuple[object, ...]:
    place = "" if row.next_pool == row.pool else row.next_pool
    target = "#".join(filter(None, (row.next_id, place)))
    pushed = " ".join(filter(None, (row.next_name, target)))
    return row.id, row.name, row.state or GONE, row.pool, row.outcome, pushed, moment(row.at_ms), row.reason


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("--pool", default="", help="only this pool (default: all pools)")
    parser.add_argument("--limit", type=positive, default=50, help="rows, at most 200")


COMMANDS = (
    KindCommand(
        name="dead-follow-ups",
        run=list_dead,
        text="follow-ups that could not be pushed; `retry` of their task pushes them again",
        add_options=_options,
    ),
)
