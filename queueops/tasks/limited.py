"""Limits of a push: its key, and for how long another push of the same id or key changes nothing, or replaces it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from queueops import conf
from queueops.errors import BadOption
from queueops.model.contracts import Conflict, Push
from queueops.model.durations import to_ms
from queueops.model.rates import WHOLE_TASK
from queueops.tasks.handlers import FunctionHandler
from queueops.tasks.limit_key import LimitKey
from queueops.tasks.options import OF_IDS, Options
from queueops.tasks.signature import ArgumentSpec
from queueops.tasks.unique_id import fit


def limit(push: Push, handler: FunctionHandler, options: Options, key: str | None) -> None:
    """Add to a push with this key what the options of its task say. Raises BadOption."""
    if handler.kind != "task":
        refuse(options, "limit", "rate", *OF_IDS)
    if options.unique_for is not None:
        if push.conflict is Conflict.NEW:
            raise BadOption(name="unique_for", value=options.unique_for, expected="given with unique=, or with an id")
        _lock(push, to_ms("unique_for", options.unique_for))
    if key is None:
        return
    if options.throttle is not None or options.debounce is not None:
        _once(push, options, key)
    if options.limit is not None or options.rate is not None:
        push.own += options.limit_fields(key)


def check(options: Options, *, has_id: bool) -> None:
    """Refuse options that each give a call an id, or a rule for its second push. `has_id`: it has one already.

    Raises BadOption.
    """
    given = [name for name in ("throttle", "debounce") if getattr(options, name) is not None]
    if len(given) + has_id > 1 and given:
        expected = "the only one of throttle=, debounce=, unique= and id=: its id is made of its key"
        raise BadOption(name=given[0], value=getattr(options, given[0]), expected=expected)
    if given and options.on_conflict is not Conflict.IGNORE:
        expected = f"left out: {given[0]}= says what another push of its key does"
        raise BadOption(name="on_conflict", value=str(options.on_conflict), expected=expected)


def refuse(options: Options, *names: str) -> None:
    """Refuse these options, as of a class. Raises BadOption."""
    for name in names:
        if (value := getattr(options, name)) is not None:
            expected = "left out: only a task that is a function has it; give it to the tasks that this one consists of"
            raise BadOption(name=name, value=value, expected=expected)


def key_of(
    limit_key: LimitKey | None, plan: ArgumentSpec, args: Sequence[Any], kwargs: Mapping[str, Any], *, after: bool
) -> str | None:
    """The key of a call, or None if nothing limits it. Raises BadArguments and BadOption."""
    if limit_key is None:
        return WHOLE_TASK
    return limit_key.of(plan, args, kwargs, after=after)


def _once(push: Push, options: Options, key: str) -> None:
    """Give it the id of its key: there is one task of it at a time."""
    check(options, has_id=push.conflict is not Conflict.NEW)
    push.id, push.token = _id_of_key(push.name, key), os.urandom(6).hex()
    if options.throttle is not None:
        push.conflict = Conflict.IGNORE
        return _lock(push, to_ms("throttle", options.throttle))
    push.conflict = Conflict.DEBOUNCE
    if push.due is None and push.delay_ms is None:
        push.delay_ms = to_ms("debounce", options.debounce)


def _id_of_key(name: str, key: str) -> str:
    """The id of a key of this name. After a name with a colon the key begins behind a blank, which no name has."""
    return fit(f"{name} {key}" if ":" in name else f"{name}:{key}")


def _lock(push: Push, lock_ms: int) -> None:
    """Another push of its id changes nothing so long. The record has the lock: it is kept as long, at least."""
    push.own += (("uf", str(lock_ms)),)
    kept = [round(seconds * 1000) for seconds in conf.current().retention.values()]
    if push.keep_ms is not None:
        push.keep_ms = max(push.keep_ms, lock_ms)
    elif lock_ms > min(kept):
        push.keep_ms = max(lock_ms, *kept)
