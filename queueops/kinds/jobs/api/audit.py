"""Audit of the API: each change goes to the same audit log as those of the console and the terminal.

Jobs that are handed in are not in it: they are too many, and each has its own record.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.http import HttpRequest

from queueops.kinds.jobs.api.authentication import client_of_request
from queueops.management.queue import audit

logger = logging.getLogger("queueops.audit")
ACTOR = "{name} (API token)"


@contextmanager
def recorded(request: HttpRequest, verb: str, **facts: Any) -> Iterator[audit.Act]:
    """Run a change with an audit entry; the body sets the outcome. A project without the console has a log line."""
    who = ACTOR.format(name=client_of_request(request).name)
    address = request.META.get("REMOTE_ADDR", "")
    with audit.recorded(verb=verb, who=who, address=address, **facts) as act:
        yield act
    words = ", ".join(row.word for row in act.rows) or "done"
    logger.info("%s from %s: %s %s: %s", who, address, verb, act.target or ", ".join(act.ids), words)
