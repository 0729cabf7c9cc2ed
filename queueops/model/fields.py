"""Record fields: the long name of each short one in the store, and how its value is read. Each has one owner."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

Codec = Literal["text", "bytes", "whole", "real", "flag", "tags"]
"""How a value is read: a text, what is opaque to the engine, a whole number, a number, `1` or nothing, a list."""


CODECS: tuple[str, ...] = get_args(Codec)


class Field(NamedTuple):
    """One field of a record.

    With ``at_success`` it is read when the task succeeds: its presence needs more than the shortest path. With
    ``in_lease`` a worker gets it with the lease, in ``own``; only built-in kinds have such fields.
    """

    name: str
    codec: Codec = "text"
    at_success: bool = False
    in_lease: bool = False


KERNEL_FIELDS: dict[str, Field] = {
    "a": Field("args", "bytes"),
    "at": Field("attempt", "whole"),
    "b": Field("begun", "whole"),
    "c": Field("created", "whole"),
    "ck": Field("parts_key"),
    "cr": Field("crashes", "whole"),
    "d": Field("due", "whole"),
    "e": Field("ended", "whole"),
    "ef": Field("fingerprint"),
    "er": Field("error", "bytes"),
    "f": Field("fence", "whole"),
    "h": Field("handed", "whole"),
    "k": Field("kind", at_success=True),
    "kp": Field("keep", "whole", at_success=True),
    "l": Field("lane", at_success=True),
    "lk": Field("limit_key", at_success=True),
    "lm": Field("key_limit", "whole"),
    "ln": Field("last_line"),
    "lr": Field("key_rate"),
    "m": Field("has_more", "flag"),
    "me": Field("meta", "bytes"),
    "n": Field("name"),
    "nx": Field("next", "flag", at_success=True),
    "ot": Field("operation"),
    "p": Field("priority", "whole"),
    "ph": Field("phase"),
    "pi": Field("parent_id", at_success=True),
    "pp": Field("parent_pool"),
    "pr": Field("progress", "real"),
    "pu": Field("parent_uid", "whole"),
    "pv": Field("previous", "bytes"),
    "r": Field("retries", "whole"),
    "re": Field("result", "bytes"),
    "ro": Field("root"),
    "rp": Field("retry"),
    "s": Field("state"),
    "t": Field("timeout", "whole"),
    "tg": Field("tags", "tags"),
    "tk": Field("token"),
    "to": Field("total", "real", at_success=True),
    "tr": Field("trace"),
    "u": Field("uid", "whole"),
    "uf": Field("unique_for", "whole"),
    "uk": Field("unknown_since", "whole"),
    "uo": Field("pushed_uid", "whole"),
    "w": Field("worker"),
    "wt": Field("waited_for", "flag", at_success=True),
    "x": Field("cancel_requested"),
    "xe": Field("expires"),
    "xh": Field("cancelled_hard", "flag"),
    "y": Field("reason"),
}
"""The fields that every task may have, by the name in the store."""
FOLLOW_UP_FIELDS: dict[str, Field] = {
    "fd": Field("follow_ups_dead", "whole"),
    "fm": Field("follow_ups_pushed"),
    "fu": Field("follow_ups", "bytes", at_success=True),
    "og": Field("follows_uid", "whole"),
    "oi": Field("follows"),
    "oo": Field("follows_outcome"),
    "op": Field("follows_pool"),
}
"""The fields of tasks with follow-ups, and of the tasks that follow. A record has them in ``own``."""
