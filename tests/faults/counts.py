"""Map-reduce tasks that tell the ledger what they do, and can be held at each stage."""

from __future__ import annotations

import os
import time

from queueops import MapReduce, Retry, current
from tests.faults.ledger import note, noted, pass_gate


class Count(MapReduce):
    """Numbers chunks from 0; each has the number of the map that made it. A map that comes back may make fewer."""

    retries = 0

    def map(self, first, later=None):
        note("map")
        run = noted("map")
        count = first if later is None or run == 1 else later
        for number in range(count):
            if number == count - 1:
                pass_gate("map")
            yield [number, run]

    def process(self, chunk):
        note("chunk")
        pass_gate(f"chunk{chunk[0]}")
        pass_gate(f"run{chunk[1]}")
        note("end")
        return chunk

    def reduce(self, results):
        note("reduce")
        found = list(results)
        pass_gate("reduce")
        return found


class Steady(MapReduce):
    """Each map yields the same chunks in the same order, or from one of them on others, when it comes back."""

    retries = 0

    def map(self, count, gates, other_from=None):
        note("map")
        again = noted("map") > 1
        for number in range(count):
            if number in gates:
                note(f"map{number}")
                pass_gate(f"map{number}")
            yield -number if again and other_from is not None and number >= other_from else number

    def process(self, chunk):
        note("chunk")
        return chunk

    def reduce(self, results):
        return list(results)


class Shared(Count):
    """A worker may have two chunks at once; they wait for each other."""

    chunks_per_worker = 2

    def process(self, chunk):
        note("chunk")
        pass_gate("chunks")
        return os.getpid()


class Slow(MapReduce):
    """Each stage takes longer than the timeout, having said so. A machine that is busy may be too late to say so."""

    retries, timeout, retry = 5, 0.5, Retry(delay=0, jitter=0)

    def map(self, seconds):
        take_longer(seconds["map"])
        return [seconds]

    def process(self, chunk):
        take_longer(chunk["process"])
        return chunk

    def reduce(self, results):
        take_longer(*[result["reduce"] for result in results])
        return ["in time"]


def take_longer(seconds: float) -> None:
    """Than the timeout allows, if these are more than none."""
    if seconds:
        current().extend(30)
        note("extended")
        time.sleep(seconds)
        note("end")


class Endless(MapReduce):
    """Finds a chunk now and then, for ever."""

    def map(self):
        while True:
            note("found")
            yield 1
            time.sleep(0.05)

    def process(self, chunk):
        return chunk


class Hanging(MapReduce):
    """Each stage hangs the first time, until it is interrupted."""

    retries, timeout, retry = 5, 0.5, Retry(delay=0, jitter=0)

    def map(self):
        hang_once("map")
        return [1]

    def process(self, chunk):
        hang_once("chunk")
        return chunk

    def reduce(self, results):
        hang_once("reduce")
        return list(results)


def hang_once(phase: str) -> None:
    """Loop for as long as it takes."""
    note(phase)
    first = noted(phase) == 1
    while first:
        time.sleep(0.01)
