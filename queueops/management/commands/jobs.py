"""Command `jobs`: Django looks for it here."""

from queueops.kinds.jobs.command import Command as Command
