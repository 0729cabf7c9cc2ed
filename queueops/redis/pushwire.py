"""Push encoding: arguments and replies of the scripts that create tasks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, groupby
from typing import Any

from msgspec import structs

from queueops import conf
from queueops.model.contracts import DEFAULT_LANE, Push, Pushed
from queueops.model.encryption import Keyring

Argument = str | int | float | bytes


def enqueue_arguments(pushes: Sequence[Push]) -> list[Argument]:
    """The arguments of ``enqueue``. What consecutive tasks share is sent once; a single task shares all that it has."""
    if (ring := conf.keyring()) is not None:
        pushes = _sealed(pushes, ring)
    if len(pushes) == 1:
        fields = _fields(pushes[0])
        return [1, 1, due_argument(pushes[0]), len(fields), *fields, 0, pushes[0].id]
    arguments: list[Argument] = [len(pushes)]
    for head, alike in groupby(pushes, _head):
        group = list(alike)
        arguments.append(len(group))
        arguments += head
        if group[0].token:
            for push in group:
                arguments += (push.id, push.args, push.token)
        else:
            for push in group:
                arguments += (push.id, push.args)
    return arguments


def read_enqueued(pushes: Sequence[Push], reply: Sequence[int]) -> list[Pushed]:
    """Parse the reply of ``enqueue``: OK, or TAKEN for an id that is in use."""
    uid, now_ms, *taken = reply
    if not taken:
        return [Pushed(push.id, number, "OK", now_ms) for number, push in enumerate(pushes, uid)]
    in_use, free = set(taken), count(uid)
    return [
        Pushed(push.id, 0, "TAKEN") if number in in_use else Pushed(push.id, next(free), "OK", now_ms)
        for number, push in enumerate(pushes)
    ]


def displace_arguments(pushes: Sequence[Push]) -> list[Argument]:
    """The arguments of ``displace``."""
    arguments: list[Argument] = [len(pushes)]
    for push in pushes:
        fields = record_fields(push)
        arguments += (push.id, push.conflict, push.token, due_argument(push), len(fields))
        arguments += fields
    return arguments


def record_fields(push: Push, *, token: bool = True) -> list[Argument]:
    """The record's fields that a push sets; the name is the first. Optionally without the token of this push."""
    ring = conf.keyring()
    return _fields(push if ring is None else _sealed([push], ring)[0], token=token)


def _fields(push: Push, *, token: bool = True) -> list[Argument]:
    fields = _shared(push)
    if push.args:
        fields += ("a", push.args)
    if push.token and token:
        fields += ("tk", push.token)
    return fields


def _sealed(pushes: Sequence[Push], ring: Keyring) -> list[Push]:
    """The same with sealed arguments and metadata. Equal metadata stays equal, and so groups tasks."""
    metas = {meta: ring.seal(meta) for meta in {push.meta for push in pushes}}
    return [structs.replace(push, args=ring.seal(push.args), meta=metas[push.meta]) for push in pushes]


def read_displaced(pushes: Sequence[Push], reply: Sequence[Any]) -> list[Pushed]:
    """Parse the reply of ``displace``."""
    parts = iter(reply)
    return [Pushed(push.id, int(uid), word.decode()) for push, word, uid in zip(pushes, parts, parts, strict=True)]


def _head(push: Push) -> list[Argument]:
    """What precedes the tasks of a group, except their number."""
    shared = _shared(push)
    own = (2, "a", "tk") if push.token else (1, "a")
    return [due_argument(push), len(shared), *shared, *own]


def due_argument(push: Push) -> Argument:
    """When the task is due: empty for now, `+ms`, or epoch milliseconds."""
    return f"+{push.delay_ms}" if push.delay_ms is not None else "" if push.due is None else push.due


def _shared(push: Push) -> list[Argument]:
    """The record's fields, except those that are never equal in two tasks."""
    fields: list[Argument] = ["n", push.name]
    if push.retries:
        fields += ("r", push.retries)
    if push.kind != "task":
        fields += ("k", push.kind)
    if push.lane != DEFAULT_LANE:
        fields += ("l", push.lane)
    if push.priority:
        fields += ("p", push.priority)
    if push.timeout_ms is not None:
        fields += ("t", push.timeout_ms)
    if push.keep_ms is not None:
        fields += ("kp", push.keep_ms)
    if push.tags:
        fields += ("tg", ",".join(push.tags))
    if push.retry:
        fields += ("rp", push.retry)
    if push.root:
        fields += ("ro", push.root)
    if push.parent_id:
        fields += ("pi", push.parent_id, "pu", push.parent_uid, "pp", push.parent_pool)
    if push.trace:
        fields += ("tr", push.trace)
    if push.meta:
        fields += ("me", push.meta)
    for pair in push.own:
        fields += pair
    return fields
