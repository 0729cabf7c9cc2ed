"""`manage.py demo`: starts the console, a worker, the watchdog and sample tasks, on the embedded server."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from console.project import packages
from queueops_demo.instance import Instance
from queueops_demo.launcher import Launcher, directory
from queueops_demo.rate import DEFAULT_RATE, MAX_RATE, rate, seconds
from queueops_demo.reserve import DemoFailed


class Command(BaseCommand):
    """Runs the demo until Ctrl-C. The next start uses the same data."""

    help = "Start the console, a worker, a watchdog and endless sample tasks. The demo has its own store and database."
    requires_system_checks: list[str] = []  # it is the demo's own project that runs

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Address, directory, rate and duration."""
        parser.add_argument("--host", default="127.0.0.1", help="where the console listens (127.0.0.1)")
        parser.add_argument("--port", type=int, default=8000, help="its port (8000; 0: any free one)")
        parser.add_argument("--data", metavar="DIR", help="directory of all data (var/demo)")
        parser.add_argument(
            "--rate", type=rate, metavar="N", help=f"tasks per second, at most {MAX_RATE:g} ({DEFAULT_RATE:g})"
        )
        parser.add_argument("--duration", type=seconds, metavar="S", help="end after this many seconds (never)")

    def handle(self, **options: Any) -> None:
        """Run the demo; exit status 0 after a requested end, 1 after a failure."""
        if lacking := packages.missing(packages.DEMO):
            advice = "Write: pip install 'queueops[embedded,project]'"
            raise CommandError(f"The demo needs packages that are not installed: {lacking}. {advice}")
        base = Path(getattr(settings, "BASE_DIR", None) or Path.cwd())
        instance = Instance(data=directory(options["data"], base), host=options["host"], port=options["port"])
        try:
            Launcher(instance, self._say, self._tell).run(rate=options["rate"], duration=options["duration"])
        except DemoFailed as error:
            raise CommandError(str(error)) from error

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()

    def _tell(self, news: str) -> None:
        print(f"demo: {news}", file=sys.stderr, flush=True)
