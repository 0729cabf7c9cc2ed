"""Settings of lanes of jobs and callbacks, as the first push gives them: a text of names and values for the store."""

from __future__ import annotations

from functools import lru_cache

from queueops import conf
from queueops.kinds.jobs import defaults
from queueops.kinds.jobs.aggregations.lane_names import DESTINATION, lane_of_destination
from queueops.kinds.jobs.settings import of_jobs
from queueops.kinds.jobs.store import LaneOfJobs

UNSET = "-"
"""Stands for an empty value."""


def first_settings(*, limit: int | None, rate: float | None, idle: float) -> str:
    """The settings of a lane that vanishes after so many seconds without use."""
    values = {"limit": limit, "rate": rate, "idle": round(idle * 1000)}
    return " ".join(f"{name} {value}" for name, value in values.items() if value is not None)


def destination(place: str, pool: str) -> LaneOfJobs:
    """The lane of the callbacks to a place. Its limits are those of the setting POOLS, or the default ones.

    The end of a job may make the lane anew in the store, which does not know the setting POOLS.
    """
    current, lane = conf.current(), lane_of_destination(place)
    of_pool = current.pools.get(pool)
    said = (of_pool.lanes.get(lane) or of_pool.pattern_of(lane)) if of_pool is not None else None
    return _destination(place, lane, said, of_jobs().aggregation_idle)


@lru_cache(maxsize=1024)
def _destination(place: str, lane: str, said: conf.LaneSettings | None, idle: float) -> LaneOfJobs:
    if said is None:
        settings = first_settings(limit=defaults.DESTINATION_LIMIT, rate=None, idle=idle)
    else:
        settings = f"{_as_said(said)} {first_settings(limit=None, rate=None, idle=idle)}"
    if lane != DESTINATION + place:
        settings = f"{settings} title {place}"
    return LaneOfJobs(lane, place, settings, is_destination=True)


def _as_said(said: conf.LaneSettings) -> str:
    """Values of the setting POOLS, and that they come from there. One without a limit has the default one."""
    values = {"limit": said.limit, "rate": said.rate, "weight": said.weight}
    texts = {name: UNSET if value is None else str(value) for name, value in values.items()}
    set_now = {"limit": str(defaults.DESTINATION_LIMIT)} | {name: text for name, text in texts.items() if text != UNSET}
    marks = {f"said:{name}": text for name, text in texts.items()}
    return " ".join(f"{name} {text}" for name, text in (set_now | marks).items())
