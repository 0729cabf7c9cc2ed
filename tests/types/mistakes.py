"""Mistakes that type checkers find: one in each line that is marked."""

from __future__ import annotations

from queueops import Batch, Iterator, Permanent, RetryLater, State, current
from tests.types.sample import add, handle

add.push("x")  # mistake
add.push(1, c=2)  # mistake
add.using(piority=1)  # mistake
current().progress("x")  # mistake
handle.result().upper()  # mistake
print(State.SUCCEDED)  # mistake


class Wrong(Iterator):
    """Its batches are no batches."""

    def iterate(self, state: int) -> int:  # mistake
        return 1


Batch(state=1, task=[])  # mistake
RetryLater("60")  # mistake
Permanent(ValueError)  # mistake
