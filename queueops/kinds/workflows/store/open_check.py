"""Consistency check of the open commands of long runs: each has what will end it.

The store's half checks a short run in one call. A long history is read here in pages. What no page explains is given
to the entry `~unended:<number>:<fence>:<run>`. The store looks at it again, unless a step was made since the fence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

import msgspec

from queueops.kinds.workflows.store import WorkflowCalls
from queueops.kinds.workflows.store.run_store import HISTORY_PAGE

OPENS = frozenset({"call", "child", "timer", "tell"})
ENDS = frozenset({"done", "failed", "fired"})
PAGE = 500
"""About the most open commands in one call."""


class _Head(msgspec.Struct):
    """The kind of an entry, and the number of its command."""

    e: str = ""
    c: int = 0


_decode = msgspec.json.Decoder(_Head).decode


def examine(broker: Any, pool: str, run: str) -> Iterator[tuple[str, str]]:
    """What is to be examined of the open commands of a run, each with the pool that examines it."""
    store: WorkflowCalls = broker
    fence = store.step_fence(pool, run)  # before the history: a later step has another one
    if fence is None:
        return
    found = _open_in_history(store, pool, run)
    if found:
        found -= _begun(store, pool, run)  # before the inbox: an end moves from the open commands to the inbox
    if found:
        found -= _ended_in_inbox(store, pool, run)
    numbers = sorted(found)
    for first in range(0, len(numbers), PAGE):
        page = numbers[first : first + PAGE]
        waiting = store.waiting_to_begin(pool, run, page)
        yield from ((pool, f"~unended:{number}:{fence}:{run}") for number in page if number not in waiting)


def _open_in_history(store: WorkflowCalls, pool: str, run: str) -> set[int]:
    found = set[int]()
    for page in _pages(store.history, pool, run):
        for head in _heads(page):
            if head.c and head.e in OPENS:
                found.add(head.c)
            elif head.e in ENDS or head.e == "drop":
                found.discard(head.c)
    return found


def _begun(store: WorkflowCalls, pool: str, run: str) -> set[int]:
    found = set[int]()
    cursor = 0
    while True:
        cursor, page = store.open_calls(pool, run, cursor, PAGE)
        found.update(int(number) for number in page if number.isdecimal())
        if not cursor:
            return found


def _ended_in_inbox(store: WorkflowCalls, pool: str, run: str) -> set[int]:
    def page_of(pool: str, run: str, first: int) -> list[bytes]:
        return store.inbox(pool, run, first=first)

    return {head.c for page in _pages(page_of, pool, run) for head in _heads(page) if head.e in ENDS}


def _pages(read: Any, pool: str, run: str) -> Iterator[list[bytes]]:
    """The pages of a list of a run."""
    for first in count(0, HISTORY_PAGE):
        page = read(pool, run, first)
        yield page
        if len(page) < HISTORY_PAGE:
            return


def _heads(texts: Iterable[bytes]) -> Iterator[_Head]:
    """The heads of entries. An entry that cannot be read is a finding of its own."""
    for text in texts:
        try:
            yield _decode(text)
        except msgspec.MsgspecError:
            continue
