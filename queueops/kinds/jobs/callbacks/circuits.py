"""Circuit breakers of callbacks: an address that fails several times in a row is left alone for a while.

Each address has a circuit of its own: the URL without its query. A host may have a good address beside a bad one. The
limit of callbacks at once is that of the host, because a callback that waits for its circuit holds no slot.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.utils.module_loading import import_string

from queueops.errors import BrokerUnavailable
from queueops.kinds.jobs.callbacks.callback_plans import Target, attempt_seconds
from queueops.kinds.jobs.callbacks.callback_senders import HTTP
from queueops.kinds.jobs.settings import of_jobs
from queueops.kinds.jobs.store import JobCalls
from queueops.redis.broker import get_role

if TYPE_CHECKING:
    from queueops.kinds.jobs.callbacks.webhook import Delivered

LONGEST = 300
"""Characters of an address. A longer one ends with a digest."""
ABOUT_THE_REQUEST = frozenset({409, 423, 425})
"""Statuses by which a working receiver puts off one callback."""


def address_of(target: Target) -> str:
    """What the circuit of a target guards: its URL without user and query, or what CIRCUIT_KEY makes of it."""
    if target.kind != HTTP:
        return target.place
    key = of_jobs().circuit_key
    found = str(_function(key)(target.destination)) if key else address_of_url(target.destination)
    name = " ".join(found.split())
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}={sha256(name.encode()).hexdigest()}"


def address_of_url(url: str) -> str:
    """The origin and the path of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}{parts.path or '/'}"


def ask(pool: str, target: Target, id: str) -> tuple[float, bool]:
    """The seconds until a callback may be sent (0: now), and whether failures of its address are noted."""
    if not of_jobs().circuit_failures:
        return 0.0, False
    try:
        wait, noted = get_role(JobCalls).ask_circuit(pool, address_of(target), id, round(attempt_seconds() * 1000))
    except BrokerUnavailable:
        return 0.0, False
    return wait / 1000, noted


def note(pool: str, target: Target, sent: Delivered, *, noted: bool) -> None:
    """Note the outcome of an attempt. A refused callback is an answer of the address, unless it was never sent."""
    settings, failure, calls = of_jobs(), sent.failure, get_role(JobCalls)
    if not settings.circuit_failures:
        return
    with contextlib.suppress(BrokerUnavailable):  # the outcome of the attempt is known, whether this is noted or not
        if failure is not None and failure.retriable and sent.status not in ABOUT_THE_REQUEST:
            waits = (round(settings.circuit_wait * 1000), round(settings.circuit_longest_wait * 1000))
            lane = target.lane(pool).lane
            calls.address_failed(pool, address_of(target), lane, settings.circuit_failures, *waits)
        elif noted and (failure is None or sent.status):
            calls.close_circuits(pool, address_of(target))


@lru_cache(maxsize=8)
def _function(path: str) -> Callable[[str], object]:
    found: Callable[[str], object] = import_string(path)
    return found
