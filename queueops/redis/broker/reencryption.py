"""Rotation of keys: a walk over all keys of a pool, which puts encrypted values under the first key of the setting.

If the setting begins with None, the walk decrypts them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import redis

from queueops.model.encryption import Keyring, is_sealed
from queueops.model.subkeys import LAST, LOG, NEXT
from queueops.redis.keys import kind_of
from queueops.redis.query_replies import text
from queueops.redis.store_client import StoreClient

STEP = 100
"""About how many keys, or parts of one key, a call reads; workers and producers continue in between."""
MOST_BYTES = 1_000_000
"""Above this size, replaced values go to the store in several calls."""
RECORDS = (
    "task:<id>",
    "task:<id>#<number>",
    "task:<id>#<number>~",
    f"task:<id>{LAST.name}",
    f"task:<id>{NEXT.name}",
    "trash:<id>",
)
VALUES = (b"a", b"me", b"pv")
"""Fields of records that hold a value of the user as a whole: arguments, metadata, and the result before."""
RESULT, ERROR, KIND = b"re", b"er", b"k"

Place = str | bytes | int


class ReencryptCalls(StoreClient):
    """Needs a store client without keys: it reads values as they are stored."""

    def reencrypt(self, pool: str, ring: Keyring, *, dry_run: bool = False) -> Iterator[Counter[str]]:
        """Put values under the first key in steps, unless it is a dry run; what each step found.

        It counts `keys`, values under the `current` key, an `old` or an `unknown` one, those in `clear`, and `changed`.
        A value that was moved or changed meanwhile is left to the next walk.
        """
        prefix, cursor = f"{self.keys(pool).prefix}:", 0
        while True:
            cursor, found = self.ask(pool, partial(_scan, prefix, cursor))
            types = self.ask_all(pool, lambda pipe: [pipe.type(key) for key in found])  # noqa: B023  # called at once
            count = Counter(keys=len(found))
            for key, type in zip(found, types, strict=True):
                self._renew_key(pool, ring, (text(key)[len(prefix) :], text(type)), count, dry_run=dry_run)
            yield count
            if not cursor:
                return

    def _renew_key(self, pool: str, ring: Keyring, key: tuple[str, str], count: Counter[str], *, dry_run: bool) -> None:
        """Renew the values of one key, given its name and its type."""
        changes: list[Place] = []
        for place, old in self._stored(pool, *key):
            new = self._renewed_value(pool, ring, key[0], (place, old), count)
            if new == old or dry_run:
                continue
            changes += (place, old, new)
            if sum(len(each) for each in changes if isinstance(each, bytes)) > MOST_BYTES:
                count["changed"] += self._call("reencrypt", pool, *key, *changes)
                changes.clear()
        if changes:
            count["changed"] += self._call("reencrypt", pool, *key, *changes)

    def _renewed_value(
        self, pool: str, ring: Keyring, name: str, value: tuple[Place, bytes], count: Counter[str]
    ) -> bytes:
        field, old = value
        seal = None if is_sealed(old) or not old or not ring.encrypts else self._seal_of(ring, name, field)
        if seal is None or (field == RESULT and self._has_kind(pool, name)):  # a kind's store may read its results
            return ring.renew(old, count)
        new = seal(old)
        count["clear"] += is_sealed(new)
        return new if is_sealed(new) else old

    def _seal_of(self, ring: Keyring, name: str, field: Place) -> Callable[[bytes], bytes] | None:
        """What seals a value in clear; None for one that is no value of a user, or one that only its kind knows."""
        kind = kind_of(name)
        if kind in RECORDS:
            return ring.seal_error if field == ERROR else ring.seal if field in (*VALUES, RESULT) else None
        if kind is not None and kind.endswith(LOG.name):
            return ring.seal_line
        return ring.seal_title if kind == "error:<fingerprint>" and field == b"title" else None

    def _has_kind(self, pool: str, name: str) -> bool:
        key = f"{self.keys(pool).prefix}:{name}"
        return "#" not in name and bool(self.ask_one(pool, lambda client: client.hexists(key, KIND.decode())))

    def _stored(self, pool: str, name: str, type: str) -> Iterator[tuple[Place, bytes]]:
        """The places and the values of a key, which are read in parts. Sets have no values of the user."""
        key, cursor = f"{self.keys(pool).prefix}:{name}", 0
        if type == "string":
            yield "", self.ask_one(pool, lambda client: client.get(key)) or b""
        while type in ("hash", "zset"):
            scan = partial(_part, key, type, cursor)
            cursor, found = self.ask_one(pool, scan) or (0, {})
            yield from found.items() if isinstance(found, dict) else (("", member) for member, _ in found)
            if not cursor:
                return
        while type == "list":
            rows = self.ask_one(pool, partial(_slice, key, cursor)) or ()
            yield from enumerate(rows, cursor)
            cursor += STEP
            if len(rows) < STEP:
                return


def _scan(prefix: str, cursor: int, client: redis.Redis) -> tuple[int, list[bytes]]:
    answer: Any = client.scan(cursor, match=f"{prefix}*", count=STEP)
    return int(answer[0]), list(answer[1])


def _part(key: str, type: str, cursor: int, client: redis.Redis) -> Any:
    return (client.hscan if type == "hash" else client.zscan)(key, cursor, count=STEP)


def _slice(key: str, first: int, client: redis.Redis) -> Any:
    return client.lrange(key, first, first + STEP - 1)
