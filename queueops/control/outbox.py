"""Actions on rows of the outbox that were given up: retry them, or delete them."""

from __future__ import annotations

from collections.abc import Sequence

from queueops.control.per_pool_calls import MOST
from queueops.errors import TooMany
from queueops.tasks import outbox


def retry_outbox(ids: Sequence[int] | None, database: str = "default") -> list[int]:
    """Let rows wait again that were given up: those with these numbers, or all with None. Returns the changed ones.

    A row of an older number is sent before the others of its lane. Raises OutboxNotInstalled, NoOutbox and TooMany.
    """
    return _act("retry", ids, database)


def drop_outbox(ids: Sequence[int] | None, database: str = "default") -> list[int]:
    """Delete rows that were given up: their pushes are never sent."""
    return _act("drop", ids, database)


def _act(verb: str, ids: Sequence[int] | None, database: str) -> list[int]:
    if ids is not None and len(ids) > MOST:
        raise TooMany(count=len(ids), what="rows", limit=MOST)
    return outbox.installed().act(verb, database, None if ids is None else list(dict.fromkeys(ids)))
