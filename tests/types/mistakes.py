"""Mistakes that type checkers find: one in each line that is marked."""

from __future__ import annotations

from queueops import Batch, Iterator, Permanent, RetryLater, State, chain, current, wf, workflow
from tests.types.sample import add, bare, charge, handle, order_flow

add.push("x")  # mistake
add.push(1, c=2)  # mistake
add.using(piority=1)  # mistake
current().progress("x")  # mistake
handle.result().upper()  # mistake
add.s("x")  # mistake
add.s(1, c=2)  # mistake
add.si()  # mistake
chain(add.s(1), add.s()).push().result().upper()  # mistake
print(State.SUCCEDED)  # mistake


class Wrong(Iterator):
    """Its batches are no batches."""

    def iterate(self, state: int) -> int:  # mistake
        return 1


Batch(state=1, task=[])  # mistake
RetryLater("60")  # mistake
Permanent(ValueError)  # mistake
order_flow.start(7)  # mistake
order_flow.start("7", price=1)  # mistake
bare.start().result().upper()  # mistake


@workflow(tmieout=3)  # mistake
async def misspelled() -> None:
    """Its option is no option."""


async def wrong_flow() -> None:
    """Its calls have wrong arguments."""
    await wf.call(charge, "7")  # mistake
    await wf.child(order_flow, 7)  # mistake
    await wf.call(order_flow, "7")  # mistake
    await wf.call(order_flow.using(id="7"), "7")  # mistake
    (await wf.call(charge, "7", 1)).append(1)  # mistake
