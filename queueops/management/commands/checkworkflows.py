"""Command `checkworkflows`: Django looks for it here."""

from queueops.kinds.workflows.check_command import Command as Command
