"""Facts of a worker with jobs: what it serves, and how full the disk of its storage is."""

from __future__ import annotations

from queueops.kinds.jobs.aggregations.lane_names import AGGREGATION, DESTINATION
from queueops.kinds.jobs.checks import are_set, downloads
from queueops.kinds.jobs.start import serves


def facts(lanes: tuple[str, ...]) -> dict[str, str]:
    """Its role and the disk of its storage; nothing without the setting `JOBS`."""
    if not are_set():
        return {}
    runs_jobs = serves(lanes, AGGREGATION)
    roles = [role for role, does in (("jobs", runs_jobs), ("callbacks", serves(lanes, DESTINATION))) if does]
    found = {"serves": " and ".join(roles)} if roles else {}
    if runs_jobs and downloads():
        from queueops.kinds.jobs.disk_guard import jobs_wait, used_percent

        used, waits = used_percent(), ", jobs wait" if jobs_wait() else ""
        found |= {"disk": f"{used:.0f} % full{waits}"} if used is not None else {}
    return found
