"""A task reports its end by one write of 24 bytes, not by Redis: a round trip of its own would hide the differences.

Loaded by the peers' own interpreters, so it needs nothing but the standard library.
"""

import os
import struct
from time import monotonic_ns, sleep

MARK = struct.Struct("<IIqq")  # number, process id, begun and ended on the machine-wide monotonic clock
MAP, REDUCE = 1_000_000_000, 2_000_000_000  # numbers of the marks of a map and of a reduce
LAST = 3_000_000_000  # and of the last task of a chain

_file = os.open(os.environ["BENCH_MARKS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def noop(number: int) -> int:
    """The task that does nothing but say that it ran."""
    begun = monotonic_ns()
    os.write(_file, MARK.pack(number, os.getpid(), begun, begun))
    return number


def nap(number: int) -> int:
    """The task that waits 10 ms, as for a network."""
    begun = monotonic_ns()
    sleep(0.010)
    ended(number, begun)
    return number


def ended(number: int, begun: int) -> None:
    """For peers that wait in their own way: the task that began at `begun` ends now."""
    os.write(_file, MARK.pack(number, os.getpid(), begun, monotonic_ns()))
