"""Actions on task names: a paused name starts no task, in any lane of the pools where it is paused."""

from __future__ import annotations

from queueops.control.per_pool_calls import check_pool
from queueops.errors import UnknownTask, advice
from queueops.model.ids import check_id
from queueops.redis.broker import get_broker
from queueops.redis.reader import Reader
from queueops.tasks import registry

MOST_WORKERS, NEIGHBOURS = 500, 100
"""Workers whose names are read, and recent names of a pool that are searched for a similar one."""


def pause_name(name: str, pool: str = "", *, new: bool = False) -> dict[str, bool]:
    """Pause all tasks of a name, in one pool or in all: none starts. Running tasks continue, and others pass by.

    A map-reduce task of the name starts no chunk. Waiting tasks keep their state, their place and their attempts. The
    name runs in a pool that is first used later. Returns for each pool whether the name was paused there before.
    Raises UnknownTask, unless it is `new`, BadOption for an unknown pool, and TooManyPausedNames.
    """
    return _set(name, pool, paused=True, new=new)


def resume_name(name: str, pool: str = "") -> dict[str, bool]:
    """Resume a name, in one pool or in all. Its tasks return to their places in their lanes, in parts of 200.

    Returns for each pool whether the name was paused there before.
    """
    return _set(name, pool, paused=False, new=True)


def _set(name: str, pool: str, *, paused: bool, new: bool) -> dict[str, bool]:
    """One pool after the other. A repeated call completes one that a broken or silent pool has stopped."""
    check_id(name, "name of a task")
    broker = get_broker()
    reader = Reader(broker)
    if pool:
        check_pool(pool)
    pools = [pool] if pool else reader.pools()
    reader.ensure_all()
    if not new:
        _ensure_known(reader, pools, name)
    return {each: broker.pause_name(each, name, paused=paused) for each in pools}


def _ensure_known(reader: Reader, pools: list[str], name: str) -> None:
    """Raise UnknownTask unless the code here, a live worker or a pool knows the name."""
    known = {handled for _, handled in registry.handlers()}
    if name in known:
        return
    has_tasks, recent = reader.names(pools, name, NEIGHBOURS)
    _, beats = reader.workers(pools, MOST_WORKERS)
    known.update(recent, *(beat.fields.get("names", "").split(",") for _, beat in beats))
    if not has_tasks and name not in known:
        reader.ensure_all()
        raise UnknownTask(name=name, advice=advice(name, filter(None, known)))
