"""Defaults of jobs, for what a job does not set itself."""

from __future__ import annotations

LIMIT = 4
"""Jobs of one aggregation that run at once, if its first job names no limit."""
DESTINATION_LIMIT = 8
"""Callbacks to one host that are sent at once."""
BESIDE_THE_REQUEST = 30.0
"""Seconds that an attempt of a callback may take beside CALLBACK_TIMEOUT: the look-up of the host has no deadline."""
