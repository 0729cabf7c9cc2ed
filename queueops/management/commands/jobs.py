"""``manage.py jobs``: the command that the kind of this name brings."""

from __future__ import annotations

from queueops.model import kinds

Command = kinds.command_of("jobs")
