"""Process command: a command of `manage.py` that keeps start-up objects out of garbage collection."""

from __future__ import annotations

import gc

from django.core.management.base import BaseCommand


class ProcessCommand(BaseCommand):
    """A command whose process is its own, when a terminal or a service manager has started it."""

    def run_from_argv(self, argv: list[str]) -> None:
        """Run the command as Django does. What is loaded so far lives as long as the process.

        So the garbage collector skips it, most of all at exit, where Python collects everything several times.
        `call_command` does not come here: the process is not the command's.
        """
        gc.freeze()
        super().run_from_argv(argv)
