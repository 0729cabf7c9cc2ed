"""Actions on lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from django.core.management.base import CommandError

from queueops import control, inspect
from queueops.errors import UnknownLane
from queueops.management.queue import audit, names
from queueops.management.queue.formatting import printable, to_json

SET = ("limit", "rate", "weight")
FACTS = (*SET, "paused")


def pause(*, pool: str | None, lane: str, name: str, **given: Any) -> Iterator[str]:
    """Pause a lane, or all tasks of a name."""
    if _is_name(lane, name):
        return names.pause(name=name, pool=pool or "", new=given["new"], as_json=given["as_json"])
    pool = pool or "default"
    return _act("pause", "paused", partial(control.pause_lane, new=given["new"]), pool, lane, given)


def resume(*, pool: str | None, lane: str, name: str, **given: Any) -> Iterator[str]:
    """Resume a lane, or all tasks of a name."""
    if _is_name(lane, name):
        return names.resume(name=name, pool=pool or "", as_json=given["as_json"])
    pool = pool or "default"
    return _act("resume", "resumed", control.resume_lane, pool, lane, given)


def set_lane(*, pool: str, lane: str, **given: Any) -> Iterator[str]:
    """Set the limit, the rate or the weight of a lane, or several of them."""
    wanted: dict[str, Any] = {name: given[name] or None for name in SET if given[name] is not None}
    if not wanted:
        raise CommandError("Set what? Give --limit, --rate or --weight.", returncode=2)
    return _act("set_lane", "set", partial(control.set_lane, new=given["new"], **wanted), pool, lane, given)


def _is_name(lane: str, name: str) -> bool:
    if bool(lane) == bool(name):
        raise CommandError("Which one? Give the name of a lane, or --name with that of a task.", returncode=2)
    return bool(name)


def _act(
    verb: str, word: str, call: Callable[..., dict[str, str]], pool: str, lane: str, given: dict[str, Any]
) -> Iterator[str]:
    lane = _by_label(pool, lane)
    was = _facts(pool, lane)
    try:
        with audit.recorded(verb=verb, target=f"{pool}/{lane}", before=was) as act:
            before = call(pool, lane)
            act.after = _facts(pool, lane)
    except UnknownLane as error:
        raise CommandError(f"{error}; with --new it is made." if "new" in given else str(error)) from error
    if given["as_json"]:
        yield to_json({"pool": pool, "lane": lane, "word": word, "before": before})
    elif verb == "set_lane":
        said = ", ".join(f"{name} {_value(was.get(name))} -> {_value(act.after.get(name))}" for name in SET)
        yield f"The lane {printable(lane)} of the pool {printable(pool)} is set: {said}."
    else:
        was_paused = "paused" if before.get("paused") == "1" else "running" if "weight" in was else "not there"
        yield f"The lane {printable(lane)} of the pool {printable(pool)} is {word}; it was {was_paused} before."


def _by_label(pool: str, lane: str) -> str:
    """The lane of this name, or else the only one that `queue status` shows by it: a digest is shown as its title."""
    if inspect.lane(pool, lane) is None:
        found = [row.lane for row in inspect.lanes(pool) if row.label == lane]
        if len(found) == 1:
            return found[0]
    return lane


def _facts(pool: str, lane: str) -> dict[str, Any]:
    """The settings of the lane; only the name of a lane that does not exist."""
    found = inspect.lane(pool, lane)
    named = {"pool": pool, "lane": lane}
    return named if found is None else named | {name: getattr(found.row, name) for name in FACTS}


def _value(value: object) -> str:
    return "none" if value is None else str(value)
