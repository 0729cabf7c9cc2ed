"""The same two tasks that every peer runs."""

import marks

from queueops import task


@task()
def noop(number: int) -> int:
    """Do nothing but say so."""
    return marks.noop(number)


@task()
def nap(number: int) -> int:
    """Wait 10 ms."""
    return marks.nap(number)
