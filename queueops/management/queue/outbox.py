"""Outbox of the databases in a terminal: rows that wait, or that were given up; retry or delete these."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from queueops import control, inspect
from queueops.control.per_pool_calls import MOST
from queueops.inspect import OutboxFigures, WaitingPush
from queueops.management.arguments import positive
from queueops.management.queue import audit
from queueops.management.queue.actions import confirm
from queueops.management.queue.formatting import counted, moment, printable, table, to_json
from queueops.management.queue.kind_commands import KindCommand

HEAD = ("ROW", "TASK", "NAME", "POOL", "LANE", "WRITTEN", "ERROR")
DONE = {"retry": "wait again", "drop": "were deleted"}


def list_rows(*, dead: bool, database: str, after: int, limit: int, as_json: bool, **_: Any) -> Iterator[str]:
    """One page of rows, and how many there are in each database."""
    page = inspect.outbox(dead=dead, database=database, after=after, limit=limit)
    if as_json:
        yield to_json(page)
        return
    yield from map(figures_line, page.databases)
    if page.rows:
        yield table(HEAD, map(_line, page.rows))
    if page.next:
        yield f"There are more: --after {page.next}"


def act(*, subcommand: str, ids: list[int], all: bool, database: str, as_json: bool, **given: Any) -> Iterator[str]:
    """Retry rows that were given up, or delete them. Fails at its end if any was not among them."""
    verb = subcommand.partition("-")[0]
    if bool(ids) == all:
        raise CommandError("Which? Name rows by their numbers, or give --all for all that were given up.", returncode=2)
    if verb == "drop" and not given["yes"]:
        many = counted(len(ids), "row", "rows") if ids else "all rows that were given up"
        confirm(f"Delete {many}? Their pushes are lost.")
    target = f"{database}/{','.join(map(str, ids)) or 'all'}"[:200]
    with audit.recorded(verb=f"{verb}_outbox", target=target, before={"database": database, "rows": ids}) as entry:
        changed = getattr(control, f"{verb}_outbox")(ids or None, database)
        entry.changed, entry.after = len(changed), {"rows": changed[:MOST]}
        if not changed:
            entry.refused = "no such row was given up"
    if as_json:
        yield to_json({"database": database, "changed": changed})
    else:
        yield f"{counted(len(changed), 'row', 'rows')} of the database {printable(database)} {DONE[verb]}."
    if len(changed) < len(set(ids)):
        raise CommandError(f"{counted(len(set(ids)) - len(changed), 'row', 'rows')} of these had not been given up.")


def figures_line(found: OutboxFigures) -> str:
    """The rows of a database in a sentence."""
    numbers = f"{found.waiting_words} wait, {found.dead_words} were given up"
    return f"Outbox of the database {printable(found.database)}: {numbers}."


def _line(row: WaitingPush) -> tuple[object, ...]:
    return row.id, row.push, row.name, row.pool, row.lane, moment(row.created_ms), row.error


def _list_options(parser: ArgumentParser) -> None:
    parser.add_argument("--dead", action="store_true", help="those that were given up, not those that wait")
    parser.add_argument("--database", default="", help="of this database (default: the first one)")
    parser.add_argument("--limit", type=positive, default=50, help="rows, at most 200")
    parser.add_argument("--after", type=positive, default=0, metavar="ROW", help="continue behind this row")


def _act_options(parser: ArgumentParser) -> None:
    parser.add_argument("ids", nargs="*", type=positive, metavar="ROW", help="the rows; or all by --all")
    parser.add_argument("--all", action="store_true", help="all that were given up")
    parser.add_argument("--database", default="default", help="of this database (default)")
    parser.add_argument("--yes", action="store_true", help="do not ask")


COMMANDS = (
    KindCommand(
        name="outbox", run=list_rows, text="pushes that wait in a database, or that were given up",
        add_options=_list_options,
    ),
    KindCommand(
        name="retry-outbox", run=act, text="let rows of the outbox wait again that were given up",
        add_options=_act_options,
    ),
    KindCommand(
        name="drop-outbox", run=act, text="delete rows of the outbox that were given up, for good",
        add_options=_act_options,
    ),
)  # fmt: skip
