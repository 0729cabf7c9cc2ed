"""Thread queue: items for a thread pool. One item wakes one thread: the one that has rested for the shortest time.

`queue.SimpleQueue` of Python 3.11 and 3.12 wakes a second thread for each item, which finds nothing and needs the
interpreter lock for it. The thread that rested last has its code and its connections at hand.

Many items wake the threads one after the other: a thread that has woken wakes the next one if there is more. All at
once would only compete for the interpreter lock.
"""

from __future__ import annotations

import contextlib
import queue
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")
Bell = queue.SimpleQueue[None]
"""What a thread sleeps at. A ring that is late makes it look once more, and nothing else."""


class ThreadQueue(Generic[Item]):
    """Items in their order."""

    def __init__(self) -> None:
        self.items: deque[Item] = deque()
        """The items that no thread has taken yet."""
        self.given = 0
        """How many items were put here, minus those that were taken back."""
        self._resting: list[Bell] = []  # the last one rings first
        self._is_one_waking = False  # it looks for more items when it has taken one

    def put(self, *items: Item) -> None:
        """Add items, and wake a thread for them if one rests."""
        self.given += len(items)
        self.items.extend(items)
        self._wake()

    def take_back(self) -> Item:
        """Remove the first item, as if it had not been put here. Raises IndexError if there is none."""
        item = self.items.popleft()
        self.given -= 1
        return item

    def taker(self) -> Callable[[], Item]:
        """A function for one thread alone: it removes the first item, and sleeps as long as there is none."""
        bell: Bell = queue.SimpleQueue()

        def take() -> Item:
            while True:
                try:
                    item = self.items.popleft()
                except IndexError:
                    self._rest(bell)
                else:
                    if self._resting:
                        self._wake()
                    return item

        return take

    def _wake(self) -> None:
        while self.items and self._resting and not self._is_one_waking:
            self._is_one_waking = True  # before its bell is taken: the thread may have seen the items already
            try:
                bell = self._resting.pop()
            except IndexError:  # another thread has just taken the last bell
                self._is_one_waking = False
            else:
                bell.put(None)

    def _rest(self, bell: Bell) -> None:
        """Sleep until an item comes, or until an error is raised in this thread from outside."""
        self._resting.append(bell)
        try:
            if not self.items:  # else one came before this thread was seen to rest
                bell.get()
        finally:
            with contextlib.suppress(ValueError):  # it was removed when it was rung
                self._resting.remove(bell)
            self._is_one_waking = False  # behind the removal: from now on no ring can be meant for this thread
