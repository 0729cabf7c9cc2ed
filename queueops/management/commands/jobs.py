"""Command of a kind: the row of the kind names it by the name of this module."""

from __future__ import annotations

from queueops.model import kinds

Command = kinds.command_of(__name__)
