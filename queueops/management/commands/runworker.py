"""``manage.py runworker``: runs tasks until it is told to stop."""

from __future__ import annotations

import logging
import sys
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from queueops import conf
from queueops.conf import pool_names
from queueops.errors import BadSetting, QueueOpsError
from queueops.logs import FORMATS, configure
from queueops.management.arguments import kind_of_record, lane_pattern, pool_name, positive, seconds
from queueops.management.foreign_arguments import explain
from queueops.management.pools import left_out
from queueops.management.process_command import ProcessCommand
from queueops.model import kinds
from queueops.worker import WorkerOptions, run_worker
from queueops.worker.execution.task_start import executor_class
from queueops.worker.options import BATCH, DEFAULT_THREADS

LEFT_OUT = "The pool %s, that of %s, is not served by this worker: name it in QUEUEOPS['POOLS'], or by --pool %s"
logger = logging.getLogger("queueops.worker")


class Command(ProcessCommand):
    """Parse, start the worker, and end with its status."""

    requires_system_checks = ["queueops"]  # other checks would load the project's URLs, which a worker does not need
    help = "Runs tasks. SIGTERM or Ctrl-C lets running tasks end within the grace time; a second one releases them."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """The parser; its errors know the arguments of other workers."""
        return explain(super().create_parser(prog_name, subcommand, **kwargs))

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        add = parser.add_argument
        help_pool = "a pool to work for; may be repeated (default, and those of the settings)"
        add("--pool", type=pool_name, action="append", dest="pools", metavar="P", help=help_pool)
        help_lanes = "take tasks only from lanes that match, such as 'to:*'; may be repeated (all lanes)"
        add("--lanes", type=lane_pattern, action="append", metavar="PATTERN", help=help_lanes)
        help_kinds = "run only records of this kind; '!KIND': all but it; may be repeated (all)"
        add("--kinds", type=kind_of_record, action="append", metavar="KIND", help=help_kinds)
        add("--processes", type=positive, metavar="N", help="processes (1)")
        add("--threads", type=positive, metavar="N", help=f"tasks at a time in each process ({DEFAULT_THREADS})")
        add("--batch", type=positive, metavar="N", help=f"tasks claimed at most in one call ({BATCH})")
        help_executor = "the dotted path of another executor (QUEUEOPS['EXECUTOR'])"
        add("--executor", type=executor_path, metavar="PATH", help=help_executor)
        add(
            "--grace",
            type=seconds,
            metavar="S",
            help="seconds for running tasks when the worker is stopped",
        )
        add("--max-tasks", type=positive, metavar="N", help="replace a process after so many tasks")
        add("--max-memory", type=positive, metavar="MB", help="replace a process above so much memory")
        add("--burst", action="store_true", help="end when nothing is left to do")
        add("--log-format", choices=FORMATS, help="write the log to stderr as text or JSON, whatever the settings say")
        add("--noreload", action="store_true", help="do not restart on code changes, as is done with DEBUG on")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the worker; exit status 0 when it ended in order."""
        if options["log_format"] or not logging.getLogger("queueops").hasHandlers():
            configure(options["log_format"] or FORMATS[0])
        names = ("processes", "threads", "batch", "executor", "grace", "max_tasks", "max_memory", "burst")
        chosen = {name: options[name] for name in names}
        chosen["pools"] = tuple(dict.fromkeys(options["pools"])) if options["pools"] else None
        chosen["lanes"] = tuple(dict.fromkeys(options["lanes"])) if options["lanes"] else None
        chosen["kinds"] = tuple(dict.fromkeys(options["kinds"])) if options["kinds"] else None
        chosen["reload"] = settings.DEBUG and not options["noreload"] and not options["burst"]
        worker = WorkerOptions.from_settings(**chosen)
        for pool in worker.pools:
            pool_names.warn_about(pool, conf.current())
        for pool, task in () if options["pools"] else left_out(worker.pools):
            logger.warning(LEFT_OUT, pool, task, pool)
        prepare(worker)
        sys.exit(run_worker(worker))


def prepare(worker: WorkerOptions) -> None:
    """Let the kinds look at what they need before the worker starts. Raises CommandError."""
    try:
        for check in kinds.roles("work.start"):
            check(worker)
    except QueueOpsError as error:
        raise CommandError(str(error)) from error


def executor_path(text: str) -> str:
    """The dotted path of an executor."""
    try:
        executor_class(text, "--executor")
    except BadSetting as error:
        raise ArgumentTypeError(str(error)) from error
    return text
