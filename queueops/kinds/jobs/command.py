"""`manage.py jobs`: hands in URLs, exports jobs, sends dead callbacks again, finds orphans, and lists files."""

from __future__ import annotations

import csv
import io
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from django.core.management.base import CommandError, CommandParser

from queueops import conf, control, inspect
from queueops.control.lanes import ALLOWED, is_allowed
from queueops.errors import QueueOpsError
from queueops.inspect import JobRow
from queueops.kinds.jobs.files import orphans
from queueops.kinds.jobs.files.file_lines import file_lines
from queueops.kinds.jobs.files.file_store import delete_file
from queueops.kinds.jobs.http.net_guard import shown_url
from queueops.kinds.jobs.store import JobCalls, NewJob
from queueops.kinds.jobs.submission import new_job
from queueops.management.arguments import positive, take_djangos_options
from queueops.management.operator_command import OperatorCommand
from queueops.management.queue import audit
from queueops.management.queue.formatting import counted, to_json
from queueops.redis.broker import get_role

BATCH = 500
"""Jobs or callbacks of one call, each with an entry in the audit log."""
COLUMNS = ("id", "pool", "aggregation", "url", "handler", "state", "attempt", "retries", "created_ms", "error")


class Command(OperatorCommand):
    """Act on jobs and callbacks; `--json` on each subcommand. Exit statuses as of `manage.py queue`."""

    help = "Submit jobs from a list of URLs, export jobs, send dead callbacks again, find orphans, delete files."

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand with its options."""
        subcommands = parser.add_subparsers(dest="subcommand", required=True, metavar="SUBCOMMAND")
        _submit_options(_add(subcommands, "submit", submit, "submit a download for each URL of the standard input"))
        _export_options(_add(subcommands, "export", export, "write jobs, one a line"))
        again = _add(subcommands, "reschedule-callbacks", reschedule, "send dead callbacks again, with the same body")
        again.add_argument("--host", default="", help="only callbacks to this host, with its port if the URL has one")
        again.add_argument("--pool", default="", help="only this pool (default: all pools)")
        again.add_argument("--rate", type=_rate, help="so many start a second (default: all at once)")
        again.add_argument("--dry-run", action="store_true", help="only count them")
        shut = _add(
            subcommands, "close-circuit", close_circuit, "send to a host or an address again now, though it has failed"
        )
        shut.add_argument("host", help="the host, with its port if the URL has one; one URL of it; or kafka:<topic>")
        shut.add_argument("--pool", default="default", help="the pool (default: default)")
        text = "find files without a job, and downloads whose file is gone"
        lost = _add(subcommands, "orphans", find_orphans, text)
        lost.add_argument("--repair", action="store_true", help="delete these files, and run these downloads again")
        _file_options(
            _add(subcommands, "files", file_lines, "list files that are stored or to be deleted, delete or keep one")
        )


def submit(**given: Any) -> Iterator[str]:
    """Hand in a job for each line of the standard input. All lines are checked before the first job is made."""
    lines = [(number, line.strip()) for number, line in enumerate(sys.stdin, 1)]
    wanted = [_checked(number, line, given) for number, line in lines if line and not line.startswith("#")]
    for batch in _batches(wanted):
        with audit.recorded(verb="submit_jobs", target=counted(len(batch), "job", "jobs"), pool=given["pool"]) as act:
            made = get_role(JobCalls).submit_jobs(given["pool"], batch)
            act.changed = len(made)
        if given["as_json"]:
            yield from (to_json({"id": each.id, "pool": given["pool"], "word": each.word}) for each in made)
    if not given["as_json"]:
        yield f"{counted(len(wanted), 'job was', 'jobs were')} submitted."


def export(**given: Any) -> Iterator[str]:
    """Write jobs as JSON, one a line, or as CSV with a heading."""
    rows = _rows(given)
    if given["as_json"] or given["format"] == "json":
        yield from (to_json({name: getattr(row, name) for name in COLUMNS}) for row in rows)
        return
    yield _csv(COLUMNS)
    yield from (_csv([_harmless(getattr(row, name)) for name in COLUMNS]) for row in rows)


def reschedule(*, host: str, pool: str, rate: float | None, dry_run: bool, as_json: bool, **_: Any) -> Iterator[str]:
    """Send all callbacks again that are dead now. One that fails again meanwhile is not taken twice."""
    found = [(row.pool, row.id) for row in _dead(host, pool)]
    changed, taken = 0, 0
    for place in () if dry_run else dict.fromkeys(place for place, _ in found):
        for batch in _batches([id for its_place, id in found if its_place == place]):
            delay = taken / rate if rate else 0.0
            with audit.recorded(verb="retry", pool=place, ids=batch) as act:
                act.rows = control.redeliver_callbacks(
                    batch, place, rate=rate, delay=delay, who=act.who, token=act.token
                )
            changed += sum(row.word in ("OK", "REPEAT") for row in act.rows)
            taken += len(batch)
    dead = counted(len(found), "dead callback", "dead callbacks")
    if as_json:
        yield to_json({"found": len(found), "changed": changed, "dry_run": dry_run})
    elif dry_run:
        yield f"{dead} would be sent again."
    else:
        within = f", within {counted(round(max(0, taken - 1) / rate), 'second', 'seconds')}" if rate else ""
        yield f"{changed:,} of {dead} {'is' if changed == 1 else 'are'} sent again{within}."
    if not dry_run and changed < len(found):
        raise CommandError(f"{counted(len(found) - changed, 'callback was', 'callbacks were')} not changed.")


def close_circuit(*, host: str, pool: str, as_json: bool, **_: Any) -> Iterator[str]:
    """Send callbacks to a host or a URL again now. Fails if none of its circuits is open."""
    shown = shown_url(host)
    with audit.recorded(verb="close_circuit", target=shown, pool=pool) as act:
        act.changed = int(control.close_circuit(host, pool))
        if not act.changed:
            act.refused = "no circuit of it is open"
    if as_json:
        yield to_json({"host": shown, "pool": pool, "changed": bool(act.changed)})
    elif act.changed:
        yield f"Callbacks to {shown} are sent again."
    if not act.changed:
        raise CommandError(f"No circuit of {shown} is open in the pool {pool}: nothing was changed.")


def find_orphans(*, repair: bool, as_json: bool, **_: Any) -> Iterator[str]:
    """Name what is found. With `repair` each file is deleted, and each download runs again and calls back again."""
    count = refused = 0
    for name in orphans.files_without_job():
        count += 1
        if repair:
            with audit.recorded(verb="delete_file", target=name):
                delete_file(name)
        yield _told(as_json, repair, file=name)
    for batch in _batches(list(orphans.jobs_without_file())):
        count += len(batch)
        for lost in batch:
            if repair:
                with audit.recorded(verb="retry", pool=lost.pool, ids=[lost.id]) as act:
                    act.rows = control.retry([lost.id], lost.pool, who=act.who, token=act.token)
            runs = repair and act.rows[0].word in ("OK", "REPEAT")
            refused += repair and not runs
            yield _told(as_json, runs, job=lost.id, pool=lost.pool, file=lost.path)
    if not as_json:
        did, done = ("repaired", count - refused) if repair else ("found", count)
        yield "No orphans were found." if not count else f"{counted(done, 'orphan was', 'orphans were')} {did}."
    if refused:
        missed = counted(refused, "download was", "downloads were")
        raise CommandError(f"{missed} not run again: the audit log has the reasons.")
    if count and not repair:
        raise CommandError("With --repair the files are deleted, and the downloads run again.")


def _told(as_json: bool, repaired: bool, **facts: str) -> str:
    if as_json:
        return to_json(facts | {"repaired": repaired})
    if "job" in facts:
        return f"The file {facts['file']} of the job {facts['job']} is gone{': it runs again' if repaired else ''}."
    return f"The file {facts['file']} has no job{': it is deleted' if repaired else ''}."


def _add(subcommands: Any, name: str, run: Any, text: str) -> ArgumentParser:
    parser: ArgumentParser = subcommands.add_parser(name, help=text, description=f"{text[:1].upper()}{text[1:]}.")
    parser.set_defaults(run=run)
    parser.add_argument("--json", action="store_true", dest="as_json", help="answer in JSON, one object a line")
    take_djangos_options(parser)
    return parser


def _submit_options(parser: ArgumentParser) -> None:
    parser.add_argument("--aggregation", default="", help="of all jobs (default: the host of each URL)")
    parser.add_argument("--limit", type=positive, help="jobs of a new aggregation that run at once")
    parser.add_argument("--pool", default="default", help="the pool of the jobs")
    parser.add_argument("--callback-url", default="", metavar="URL", help="where the outcome of each job goes")
    parser.add_argument("--extra", default="", help="a text that the callback has")


def _export_options(parser: ArgumentParser) -> None:
    parser.add_argument("--aggregation", default="", help="only jobs of this aggregation")
    parser.add_argument("--state", default="", help="only jobs in this state")
    parser.add_argument("--host", default="", help="only jobs whose URL has this host")
    parser.add_argument("--pool", default="", help="only this pool (default: all pools)")
    parser.add_argument("--limit", type=positive, help="at most so many (default: all)")
    parser.add_argument("--format", choices=("json", "csv"), default="json", help="default: json, one object a line")


def _file_options(parser: ArgumentParser) -> None:
    parser.add_argument("--queue", action="store_true", help="those in the deletion queue (default: those stored)")
    parser.add_argument("--failed", action="store_true", help="those whose deletion has failed")
    parser.add_argument("--pool", default="", help="only this pool (default: all pools; of an action: default)")
    parser.add_argument("--delete", nargs="+", default=[], metavar="FILE", help="delete these files now")
    parser.add_argument("--keep", nargs="+", default=[], metavar="FILE", help="take these files out of the queue")


def _rate(text: str) -> float:
    """A number of starts a second."""
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not is_allowed("rate", rate):
        raise ArgumentTypeError(f"{text!r} is not {ALLOWED['rate']}")
    return rate


def _checked(number: int, url: str, given: dict[str, Any]) -> NewJob:
    """The job of one line. Raises CommandError with the number of a line that is wrong: then no job is made."""
    options = {name: given[name] for name in ("limit", "pool", "callback_url", "extra")}
    try:
        return new_job(given["aggregation"] or _host(url) or "unknown", {"url": url, **options})
    except QueueOpsError as error:
        told = conf.redactor().text(f"Line {number}: {error}")
        raise CommandError(f"{told} No job was submitted.", returncode=2) from error


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc.rpartition("@")[2].lower()
    except ValueError:
        return ""


def _rows(given: dict[str, Any]) -> Iterator[JobRow]:
    pages = _pages(given)
    return islice(pages, given["limit"]) if given["limit"] else pages


def _pages(given: dict[str, Any]) -> Iterator[JobRow]:
    after = ""
    while True:
        page = inspect.jobs(
            given["aggregation"], given["state"], given["host"], pool=given["pool"], after=after, limit=200
        )
        yield from page.rows
        after = page.next
        if not after:
            return


def _dead(host: str, pool: str) -> Iterator[Any]:
    after = ""
    while True:
        page = inspect.callbacks("dead", host, pool, after=after, limit=200)
        yield from page.rows
        after = page.next
        if not after:
            return


def _batches(items: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


def _csv(values: Iterable[object]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(values)
    return line.getvalue()


def _harmless(value: object) -> object:
    """A text that a spreadsheet does not read as a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
