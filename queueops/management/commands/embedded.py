"""`manage.py embedded start | stop | status | ask`: the server behind an `embedded:` URL."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from queueops import conf
from queueops.errors import QueueOpsError
from queueops.management.queue.formatting import printable
from queueops.redis import embedded


class Command(BaseCommand):
    """Starts, stops and shows the embedded server, and asks it: it brings no `redis-cli`."""

    help = "The embedded Valkey server. It starts by itself when a process needs it, also after a stop."
    requires_system_checks: list[str] = []  # it must also work when a check would fail

    def add_arguments(self, parser: ArgumentParser) -> None:
        """One action, and the directory when it is not the settings'."""
        parser.add_argument("action", choices=["start", "stop", "status", "ask"])
        parser.add_argument("words", nargs="*", metavar="WORD", help="of ask: a command, such as SLOWLOG GET 10")
        parser.add_argument("--data", metavar="DIR", help="its directory, in place of the one in QUEUEOPS['URL']")
        parser.add_argument("--json", action="store_true", help="answer with one JSON object")

    def handle(self, *, action: str, words: list[str], data: str | None, **options: Any) -> None:
        """Start or stop the server, then print its state. The exit status of `status` is 1 when no server answers.

        `ask` sends it a command, and prints the answer.
        """
        if bool(words) != (action == "ask"):
            raise CommandError("ask takes a command, such as SLOWLOG GET 10; the others take none.", returncode=2)
        try:
            if action == "ask":
                self.stdout.write("\n".join(_lines(embedded.ask(data or _directory(), *words))))
                return
            directory = data or _directory()
            stopped = embedded.stop(directory) if action == "stop" else None
            server = embedded.start(directory) if action == "start" else embedded.status(directory)
        except (QueueOpsError, OSError) as error:  # such as a directory that is another user's
            raise CommandError(str(error)) from error
        self.stdout.write(_as_json(server) if options["json"] else _as_text(server, stopped))
        if action == "status" and not server.answers:
            raise SystemExit(1)


def _directory() -> str:
    url = conf.current().url
    if not url.startswith("embedded:"):
        raise CommandError("QUEUEOPS['URL'] names a server that is not embedded. Use --data to name a directory.")
    return url.removeprefix("embedded:")


def _lines(reply: Any) -> Iterator[str]:
    """A line for each value; what is in a list stands further right."""
    if isinstance(reply, dict):
        yield from (f"{printable(str(name))}: {printable(str(value))}" for name, value in reply.items())
    elif isinstance(reply, list):
        yield from (f"  {line}" for each in reply for line in _lines(each))
    else:
        yield printable(str(reply), lines=True)


def _as_json(server: embedded.Server) -> str:
    facts = {"running": server.running, "answers": server.answers, "pid": server.pid or None}
    return json.dumps(facts | {"url": server.url, "directory": str(server.directory)})


def _as_text(server: embedded.Server, stopped: bool | None) -> str:
    if stopped:
        return f"Stopped; its data stays in {server.directory}"
    if not server.running:
        return f"No server runs in {server.directory}"
    word = "answers at" if server.answers else "runs, but does not answer yet at"
    return f"The server {word} {server.url} (process {server.pid})"
