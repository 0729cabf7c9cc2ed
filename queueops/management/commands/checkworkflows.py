"""``manage.py checkworkflows``: the command that the kind of workflows brings."""

from __future__ import annotations

from queueops.model import kinds

Command = kinds.command_of("workflows")
