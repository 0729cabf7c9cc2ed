"""Defaults of jobs, for what a job does not set itself."""

from __future__ import annotations

from queueops.model.retry import Retry

LIMIT = 4
"""Jobs of one aggregation that run at once, if its first job names no limit."""
RETRIES = 2
"""Further attempts of a job after the first one failed."""
RETRY = Retry()
