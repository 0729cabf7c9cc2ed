"""Process command: a command of `manage.py` that runs for long, in a process that a service manager has started."""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
from typing import Any

from django.core.management.base import BaseCommand


class ProcessCommand(BaseCommand):
    """A command whose process is its own, when a terminal or a service manager has started it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Open the standard streams that were closed at the start: code writes to them, and needs their numbers."""
        open_missing_streams()
        super().__init__(*args, **kwargs)

    def run_from_argv(self, argv: list[str]) -> None:
        """Run the command as Django does. What is loaded so far lives as long as the process.

        So the garbage collector skips it, most of all at exit, where Python collects everything several times.
        `call_command` does not come here: the process is not the command's. SIGUSR1 would end a process that has no
        handler for it: it writes the stacks to standard error.
        """
        gc.freeze()
        if signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL:
            faulthandler.register(signal.SIGUSR1)
        super().run_from_argv(argv)


def open_missing_streams() -> None:
    """Connect closed standard streams to /dev/null. Otherwise the next socket becomes standard error."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115 - open as long as the process lives
