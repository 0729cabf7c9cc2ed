"""Defaults of jobs, for what a job does not set itself."""

from __future__ import annotations

from queueops.model.retry import Retry

LIMIT = 4
"""Jobs of one aggregation that run at once, if its first job names no limit."""
RETRIES = 2
"""Further attempts of a job after the first one failed."""
RETRY = Retry()
DESTINATION_LIMIT = 8
"""Callbacks to one host that are sent at once."""
CALLBACK_RETRIES = 9
"""Further attempts of a callback after the first one failed: with the delays below they take about four hours."""
CALLBACK_RETRY = Retry(delay=30, backoff=2, max_delay=2 * 3600, jitter=0.2)
CALLBACK_TIMEOUT = 60.0
"""Seconds for one attempt of a callback, in all."""
