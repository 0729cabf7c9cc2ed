"""Options of `manage.py queue` and its subcommands."""

from __future__ import annotations

from argparse import ArgumentParser
from functools import cache
from typing import Any

from queueops.control.verbs import ON_TASKS, VERBS
from queueops.inspect.export import FORMATS
from queueops.inspect.history.ranges import RANGES
from queueops.inspect.query import FACETS
from queueops.management.arguments import (
    days,
    delay,
    json_list,
    json_object,
    number_or_none,
    positive,
    rate_or_none,
    seconds,
    take_djangos_options,
)
from queueops.management.queue import (
    actions,
    edit,
    flush,
    follow_ups,
    fsck,
    history,
    lanes,
    names,
    outbox,
    pool_messages,
    pools,
    queries,
    reencrypt,
    registry,
    schedules,
    trash,
    trees,
    workers,
)
from queueops.management.queue.kind_commands import commands_of_kinds, page_options
from queueops.model.states import table

QUESTIONS = {
    "status": (queries.status, "all figures at a glance"),
    "list": (queries.list_tasks, "tasks, newest first"),
    "count": (queries.count, "the number of tasks that match a filter"),
    "export": (queries.export, "all tasks that match, as CSV or one JSON object a line"),
    "show": (queries.show, "one task in full"),
    "why": (queries.explain, "why a task is not running"),
    "tree": (trees.show_tree, "the parts of a chain, a group or an iterator, and their parts"),
    "tail": (queries.follow, "what happens, as it happens"),
    "errors": (queries.list_errors, "failures grouped by their fingerprint"),
    "history": (history.show_history, "figures over time: in, out, failed, waiting, and how long tasks wait and run"),
    "tasks": (registry.list_known, "the tasks in the code: arguments, options, and the workers that know them"),
    "name": (names.show, "one task name: rates, waits, runs, latest tasks and errors"),
    "pool": (pools.show, "one pool: figures, lanes and workers"),
    "workers": (workers.list_workers, "the worker processes"),
    "fsck": (fsck.fsck, "whether every task is where its record says; with --repair each is put there"),
}
RUNS: dict[str, Any] = {
    **{verb.name: actions.act for verb in ON_TASKS.values() if verb.about},
    "edit": edit.edit,
    "pause": lanes.pause,
    "resume": lanes.resume,
    "set_lane": lanes.set_lane,
    "pause_pool": pools.act,
    "resume_pool": pools.act,
    "quiet": workers.tell,
    "stop": workers.tell,
    "stacks": workers.stacks,
    "flush": flush.flush,
}
"""What performs each verb."""
TRASH = {"trash": (trash.trash, "how many deleted tasks are kept, or with --empty their end")}
OWN_OPTIONS = (
    *pool_messages.COMMANDS,
    *follow_ups.COMMANDS,
    *schedules.COMMANDS,
    *outbox.COMMANDS,
    *reencrypt.COMMANDS,
)
"""Subcommands whose options stand beside them."""
TASKS = [name.replace("_", "-") for name, verb in ON_TASKS.items() if verb.about]
ALL = QUESTIONS | {name.replace("_", "-"): (run, VERBS[name].about) for name, run in RUNS.items()} | TRASH


def add_subcommands(parser: ArgumentParser) -> None:
    """All subcommands, each with `--json`."""
    subcommands = parser.add_subparsers(dest="subcommand", required=True, metavar="SUBCOMMAND")
    found = {name: _add(subcommands, name, run, text) for name, (run, text) in ALL.items()}
    for name in ("list", "count", "export"):
        _list_options(found[name])
    page_options(found["list"])
    found["export"].add_argument("--format", choices=FORMATS, default="csv", help="csv; --json is the same as ndjson")
    for command in (*OWN_OPTIONS, *commands_of_kinds(ALL)):
        command.add_options(_add(subcommands, command.name, command.run, command.text, command.aliases))
    for name in ("show", "why", "tree", "edit"):
        found[name].add_argument("id", help="the task's id")
        found[name].add_argument("--pool", default="", help="the pool that holds it (default: search all pools)")
    _tree_options(found["tree"])
    _tail_options(found["tail"])
    found["tasks"].add_argument("name", nargs="?", default="", help="only this task, in full")
    _history_options(found["history"])
    found["name"].add_argument("name", help="the task's name")
    for name in ("pool", "pause-pool", "resume-pool"):
        found[name].add_argument("pool", help="the pool's name")
    found["fsck"].add_argument("--pool", default="", help="only this pool (default: all pools)")
    found["fsck"].add_argument("--repair", action="store_true", help="repair what is found")
    _trash_options(found["trash"])
    _flush_options(found["flush"])
    for name in TASKS:
        _verb_options(found[name])
    found["retry"].add_argument(
        "--everything", action="store_true", help="of a chain, a group or an iterator: all of it, not only what failed"
    )
    found["cancel"].add_argument("--reason", default="", help="why; it stays with the task")
    found["cancel"].add_argument(
        "--hard", action="store_true", help="interrupt running tasks, and kill the process of a task that still runs"
    )
    found["postpone"].add_argument("--delay", type=delay, required=True, metavar="SECONDS", help="from now")
    found["keep"].add_argument("--days", type=days, required=True, help="from now")
    found["priority"].add_argument("--to", type=int, required=True, metavar="NUMBER", help="-100 to 100, higher first")
    found["move"].add_argument("--to", required=True, metavar="LANE", help="the lane that they go to")
    _edit_options(found["edit"])
    found["errors"].add_argument("--limit", type=positive, default=50, help="rows, at most 200")
    for name in ("quiet", "stop", "stacks"):
        found[name].add_argument("id", help="the worker, as `queue workers` names it")
    found["stacks"].add_argument("--timeout", type=delay, default=15.0, metavar="SECONDS", help="how long to wait")
    found["set-lane"].add_argument("lane", help="the lane's name, such as default")
    found["set-lane"].add_argument("--pool", default="default")
    for name in ("pause", "resume"):
        found[name].add_argument("lane", nargs="?", default="", help="the lane's name, such as default")
        found[name].add_argument("--name", default="", help="all tasks of this name, in place of a lane")
        found[name].add_argument("--pool", help="of the lane (default), or only there of the name (all pools)")
    for name in ("pause", "set-lane"):
        found[name].add_argument("--new", action="store_true", help="also when no such task was pushed yet")
    found["set-lane"].add_argument("--limit", type=number_or_none, help="tasks at once; none: no limit")
    found["set-lane"].add_argument("--rate", type=rate_or_none, help="starts a second, such as 0.5; none: any")
    found["set-lane"].add_argument("--weight", type=number_or_none, help="1 to 1000; none: the usual 1")
    found["edit"].add_argument("--yes", action="store_true", help="do not ask")


def _add(commands: Any, name: str, run: Any, text: str, aliases: tuple[str, ...] = ()) -> ArgumentParser:
    about = f"{text[:1].upper()}{text[1:]}."
    parser: ArgumentParser = commands.add_parser(
        name, aliases=aliases, help=text, description=about, parents=[_shared()]
    )
    parser.set_defaults(run=run)
    return parser


@cache
def _shared() -> ArgumentParser:
    """The options of all subcommands, made once: argparse checks each new option, and there are 50 subcommands."""
    parser = ArgumentParser(add_help=False)
    parser.add_argument("--json", action="store_true", dest="as_json", help="answer in JSON")
    take_djangos_options(parser)
    return parser


def _filters(parser: ArgumentParser) -> None:
    about = "all conditions as one text, such as --filter='-lane:bulk state:failed age>10m'"
    parser.add_argument("--filter", default="", metavar="TEXT", help=about)
    for facet in FACETS:
        if facet not in ("id", "contains"):
            parser.add_argument(f"--{facet}", default="", help=f"only tasks of this {_FACET.get(facet, facet)}")


_FACET = {"error": "error's fingerprint"}


def _list_options(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="FILTER", help="the same as --filter, such as state:failed")
    _filters(parser)
    parser.add_argument("--id", default="", help="only the task of this id")
    parser.add_argument("--contains", default="", metavar="TEXT", help="only tasks with this text in arguments or id")


def _edit_options(parser: ArgumentParser) -> None:
    help_args, help_kwargs = "its positional arguments (default: unchanged)", "its named arguments (default: unchanged)"
    parser.add_argument("--args", dest="positional", type=json_list, metavar="JSON", help=help_args)
    parser.add_argument("--kwargs", dest="named", type=json_object, metavar="JSON", help=help_kwargs)


def _history_options(parser: ArgumentParser) -> None:
    parser.add_argument("--range", choices=RANGES, default="24h", help="how far back (24h)")
    parser.add_argument("--pool", default="", help="only this pool (default: all pools)")
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--lane", default="", help="only this lane")
    one.add_argument("--name", default="", help="only tasks of this name")
    one.add_argument("--error", default="", help="only failures of this fingerprint, as `queue errors` names it")
    one.add_argument("--worker", default="", help="only this worker process, as `queue workers` names it")
    one.add_argument(
        "--state", default="", choices=tuple(map(str, table().states)), help="tasks that entered, left or were in it"
    )


def _trash_options(parser: ArgumentParser) -> None:
    parser.add_argument("--pool", default="", help="only this pool (default: all pools)")
    parser.add_argument("--empty", action="store_true", help="delete the tasks in the trash for good")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _flush_options(parser: ArgumentParser) -> None:
    parser.add_argument("--pool", default="", help="only this pool (default: all pools of the namespace)")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--force", action="store_true", help="also while workers serve it; running tasks are lost")


def _tree_options(parser: ArgumentParser) -> None:
    parser.add_argument("--only", default="", choices=("failed", "open"), help="parts that failed, or have not ended")
    parser.add_argument("--after", default="", metavar="POSITION", help="continue where a tree ended")
    parser.add_argument("--open", nargs="*", default=[], metavar="ID", dest="open_parts", help="show their parts, too")


def _tail_options(parser: ArgumentParser) -> None:
    parser.add_argument("--pool", default="", help="only this pool")
    parser.add_argument("--name", default="", help="only tasks of this name")
    parser.add_argument("--id", default="", help="only this task")
    parser.add_argument("--seconds", type=seconds, help="end after so long; else at Ctrl-C")


def _verb_options(parser: ArgumentParser) -> None:
    parser.add_argument("ids", nargs="*", metavar="ID", help="the tasks; or name them by filters")
    _filters(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask, however many tasks match")
    parser.add_argument("--here", action="store_true", help="perform it in this process, whatever workers there are")
