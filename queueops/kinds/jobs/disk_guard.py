"""Disk guard: a worker starts no job while the disk of its storage is nearly full.

It claims none then: the jobs wait in their lanes, untouched, and workers of other machines take them. The two limits
lie apart, so that a disk near one of them does not start and stop the jobs all the time.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
from pathlib import Path
from time import monotonic, time

from django.core.files.storage import FileSystemStorage, default_storage

from queueops.errors import BrokerUnavailable
from queueops.kinds.jobs.aggregations.lane_names import AGGREGATION
from queueops.kinds.jobs.checks import downloads
from queueops.kinds.jobs.settings import of_jobs
from queueops.kinds.jobs.store import JobCalls
from queueops.redis.broker import get_role

AGAIN_S = 5.0
"""Seconds until a download starts that this machine had claimed before its disk was full."""
LOOK_S = 5.0
"""Seconds between two looks at the disk."""
ROOM_S = 1.0
"""Seconds for which downloads start without another look at the disk, after one that has found room."""
CLOSED = (f"{AGGREGATION}*",)


def closed_lanes(pool: str) -> tuple[str, ...]:
    """The lanes from which this worker claims nothing now: those of all aggregations, or none."""
    now = monotonic()
    if now >= _next_look.get(pool, 0.0):
        _next_look[pool] = now + LOOK_S
        if downloads():
            is_full(pool)
        else:
            _full.discard(pool)
    return CLOSED if pool in _full else ()


def jobs_wait() -> bool:
    """Whether this worker claims no job now, as it has noted."""
    return bool(_full)


def may_start(pool: str) -> bool:
    """Whether a download may start: the disk has room now, or had it a moment ago."""
    now = monotonic()
    if now < _room_until.get(pool, 0.0):
        return True
    if is_full(pool):
        return False
    _room_until[pool] = now + ROOM_S
    return True


def is_full(pool: str = "default") -> bool:
    """Whether jobs wait: the disk has passed the upper limit, and not fallen to the lower one since.

    A change is noted in the store, for the console; so is a full disk each time. Other storages have no disk.
    """
    used, settings = used_percent(), of_jobs()
    if used is None or not settings.disk_pause:
        return False
    host = socket.gethostname()
    was = pool in _full
    full = used >= settings.disk_pause or (was and used > min(settings.disk_resume, settings.disk_pause))
    with contextlib.suppress(BrokerUnavailable):  # the note is for operators; the guard works without it
        if full:
            get_role(JobCalls).note_full_disk(pool, host, f"{round(time() * 1000)} {used:.0f}")
        elif was:
            get_role(JobCalls).forget_full_disk(pool, host)
    if full:
        _full.add(pool)
        _room_until.pop(pool, None)
    else:
        _full.discard(pool)
    return full


def used_percent() -> float | None:
    """How full the disk of the storage is, as `df` shows it; None for a storage that is not on a disk."""
    if not isinstance(default_storage, FileSystemStorage):
        return None
    place = Path(default_storage.path(""))
    while not place.exists() and place != place.parent:
        place = place.parent
    found = shutil.disk_usage(place)
    return 100 * found.used / (found.used + found.free or 1)


_full: set[str] = set()
"""The pools in which this process has noted that the disk of its machine is full."""
_next_look: dict[str, float] = {}
_room_until: dict[str, float] = {}
