"""``manage.py watchdog``: recover what its worker lost, promote what is due, end retentions, draw the figures.

Its process also sends alerts, and what waits in the outbox of a database.
"""

from __future__ import annotations

import logging
import signal
import threading
from typing import Any

from django.core.management.base import CommandError, CommandParser

from queueops.alerts import alerts_of
from queueops.errors import QueueOpsError
from queueops.errors.kinds import NotOffered
from queueops.errors.refusals import LibraryRefused
from queueops.inspect.new_marks import seen
from queueops.logs import FORMATS, configure
from queueops.management.arguments import pool_name
from queueops.management.process_command import ProcessCommand
from queueops.model.capabilities import Capability
from queueops.redis import call_limits
from queueops.redis.broker import get_broker
from queueops.tasks import outbox
from queueops.watchdog import Watchdog


class Command(ProcessCommand):
    """Run the watchdog until SIGTERM or SIGINT. Run one or more."""

    requires_system_checks = ["queueops"]  # other checks would load the project's URLs, which a watchdog does not need
    help = "Recover expired leases, promote due tasks, end retentions, draw the console's figures and send alerts."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which pools to watch over."""
        help_pool = "a pool to watch over; may be repeated (default: all of them)"
        parser.add_argument("--pool", type=pool_name, action="append", default=[], metavar="P", help=help_pool)
        parser.add_argument("--once", action="store_true", help="make one round, print what was done, and end")
        help_format = "write the log to stderr as text or JSON, whatever the settings say"
        parser.add_argument("--log-format", choices=FORMATS, help=help_format)

    def handle(self, *args: Any, **options: Any) -> None:
        """Make one round (`--once`), or rounds until a signal; end with status 0.

        Raises CommandError, and so ends with 1, if the store refuses the Lua library.
        """
        if options["log_format"] or not logging.getLogger("queueops").hasHandlers():
            configure(options["log_format"] or FORMATS[0])
        try:
            broker = get_broker()
            if Capability.UPKEEP not in broker.capabilities:
                return self._relay_alone(type(broker).__name__, once=options["once"])
            watchdog = Watchdog(broker, pools=options["pool"], has_code=True, look=seen)
            if options["once"]:
                return self._once(watchdog)
        except QueueOpsError as error:
            raise CommandError(str(error)) from error
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN or number != signal.SIGHUP:  # `nohup` ignores SIGHUP
                signal.signal(number, lambda *_: self._stop(watchdog))
        try:
            with alerts_of(watchdog), outbox.relaying():
                watchdog.run()
        except LibraryRefused as error:
            raise CommandError(str(error)) from error
        return call_limits.end()

    def _relay_alone(self, store: str, *, once: bool) -> None:
        """Relay the outbox for a store that needs no watchdog. Raises NotOffered without an outbox."""
        if not outbox.is_installed():
            raise NotOffered(store=store, capability=Capability.UPKEEP)
        if once:
            return self._relay()
        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        with outbox.relaying():
            stopped.wait()
        return None

    def _stop(self, watchdog: Watchdog) -> None:
        watchdog.stop()
        call_limits.run_out()

    def _once(self, watchdog: Watchdog) -> None:
        for pool, acted in watchdog.round().items():
            done = ", ".join(f"{count} {word}" for word, count in acted.items()) or "nothing to do"
            self.stdout.write(f"{pool}: {done}")
        self._relay()

    def _relay(self) -> None:
        if outbox.is_installed() and (sent := outbox.installed().relay()):
            self.stdout.write(f"outbox: {sent} sent")
