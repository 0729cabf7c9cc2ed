"""Pool messages: list, try again, drop."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from queueops import control, inspect
from queueops.inspect import CommandRow
from queueops.inspect.pool_messages import SHOWN
from queueops.management.queue import audit
from queueops.management.queue.actions import confirm
from queueops.management.queue.formatting import counted, moment, printable, shown_broken, table, to_json
from queueops.management.queue.kind_commands import KindCommand, page_options

HEAD = ("MESSAGE", "POOL", "SAYS", "FROM", "TO", "IN", "GENERATION", "TRIES", "AT", "LAST ERROR")
NO_COMMAND = "it is not a pool message, and can only be dropped"
REFUSED = {
    "locked": "a worker is applying it",
    "dead": NO_COMMAND,
    "due": NO_COMMAND,
    "": "there is no such pool message",
}
"""The reason of a refusal, by the message's index."""
DONE = {"requeue": "tried again", "drop": "dropped"}
LOST = "The store later resends a dropped report of an end, or a part's turn. A dropped cancel or retry is lost."


def list_commands(*, place: str, pool: str, as_json: bool, **given: Any) -> Iterator[str]:
    """One page of the pool messages in a place, and their total number."""
    page = inspect.commands(place, pool, after=given["after"], limit=given["limit"])
    if not as_json:
        yield from shown_broken(page.broken)
    if as_json:
        yield to_json(page)
        return
    yield ", ".join(f"{getattr(page, place):,} {word}" for place, word in SHOWN.items())
    if page.rows:
        yield table(HEAD, map(_line, page.rows))
    if page.next:
        yield f"There are more: --after {page.next}"


def act(*, subcommand: str, ids: list[str], pool: str, as_json: bool, **given: Any) -> Iterator[str]:
    """Try pool messages again at once, or drop them for good. Fails at its end if any was refused."""
    verb = subcommand.partition("-")[0]
    if bool(ids) == given["dead"]:
        raise CommandError("Which? Name pool messages, or give --dead for all that were given up.", returncode=2)
    if verb == "drop" and not given["yes"]:
        many = (
            f"{len(ids)} messages"
            if ids
            else f"all {inspect.commands('dead', pool).dead:,} messages that were given up"
        )
        confirm(f"Drop {many} of the pool {printable(pool)}? {LOST}")
    target = f"{pool}/{','.join(ids) if ids else 'dead'}"[:200]
    with audit.recorded(verb=f"{verb}_commands", target=target, before={"pool": pool, "commands": ids}) as act:
        if ids:
            act.rows = getattr(control, f"{verb}_commands")(ids, pool)
            done = sum(row.word == "OK" for row in act.rows)
        else:
            done = getattr(control, f"{verb}_dead_commands")(pool)
        act.changed = done
        rows = list(act.rows)
    if as_json:
        yield to_json({"pool": pool, "changed": done, "rows": rows})
    else:
        for row in rows:
            if row.word != "OK":
                yield f"{printable(row.id)}: {REFUSED[row.state]}"
        of = f"of the pool {printable(pool)}"
        yield f"{counted(done, f'message {of} was', f'messages {of} were')} {DONE[verb]}."
    if done < len(ids):
        raise SystemExit(1)


def _line(row: CommandRow) -> tuple[object, ...]:
    at, generation = moment(row.at_ms), f"{row.generation}{f' round {row.round}' if row.round else ''}"
    return row.id, row.pool, row.verb, row.sender, row.target, row.to, generation, row.tries, at, row.error


def _list_options(parser: ArgumentParser) -> None:
    parser.add_argument("--place", default="due", help="due, taken or given-up (due)")
    parser.add_argument("--pool", default="", help="only this pool (default: all pools)")
    page_options(parser)


def _act_options(parser: ArgumentParser) -> None:
    parser.add_argument("ids", nargs="*", metavar="ID", help="the messages; or all by --dead")
    parser.add_argument("--pool", default="default", help="the pool that they come from")
    parser.add_argument("--dead", action="store_true", help="all that were given up")
    parser.add_argument("--yes", action="store_true", help="do not ask")


COMMANDS = (
    KindCommand(
        name="pool-messages",
        aliases=("commands",),
        run=list_commands,
        text="what is on its way from pool to pool",
        add_options=_list_options,
    ),
    KindCommand(
        name="requeue-pool-message",
        aliases=("requeue-command",),
        run=act,
        text="have messages between pools tried again at once",
        add_options=_act_options,
    ),
    KindCommand(
        name="drop-pool-message",
        aliases=("drop-command",),
        run=act,
        text="drop messages between pools, for good",
        add_options=_act_options,
    ),
)
