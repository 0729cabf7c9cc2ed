"""Operator command: a command of `manage.py` that asks and acts by subcommands, with exit statuses for scripts."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.db import Error as DatabaseError

from queueops import conf
from queueops.errors import BadId, BadOption, FilterError, QueueOpsError
from queueops.management.process_command import ProcessCommand

USAGE = (BadId, BadOption, FilterError)
"""Errors in the arguments: exit status 2. Every other failure is 1."""
UNRECORDED = "The audit log cannot be written, and nothing is done without it (is the database there, and migrated?):"

INTERRUPTED = "Interrupted. What was sent before that is done, and in the audit log."
CTRL_C = 130
"""The exit status by which a shell recognises a command that Ctrl-C ended."""


class OperatorCommand(ProcessCommand):
    """A command whose subcommands are functions: each yields its output, as the option `run` of its parser."""

    requires_system_checks = ["queueops"]  # other checks load the URLs and templates; an operator needs neither

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the subcommand's output. Exit status 1 when an action was refused or failed, 2 for wrong arguments,
        130 after Ctrl-C.
        """
        try:
            for line in options.pop("run")(**options):
                self.stdout.write(line)
                self.stdout.flush()
        except CommandError as error:
            raise CommandError(_told(error), returncode=error.returncode) from error.__cause__
        except USAGE as error:
            raise CommandError(_told(error), returncode=2) from error
        except QueueOpsError as error:
            raise CommandError(_told(error)) from error
        except DatabaseError as error:
            raise CommandError(f"{UNRECORDED} {_told(error)}") from error
        except KeyboardInterrupt:  # at a question, or while the store does not answer
            raise CommandError(INTERRUPTED, returncode=CTRL_C) from None
        except BrokenPipeError:
            raise SystemExit(1) from None  # the reader has closed the pipe, as `head` does


def _told(error: Exception) -> str:
    return conf.redactor().text(str(error))
