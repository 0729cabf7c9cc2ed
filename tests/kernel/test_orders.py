"""Redis runs one script at a time, so every race is an order of calls: all orders of a race leave one outcome."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import pytest

from queueops.model.contracts import Lease, Outcome
from tests.kernel.desk import Desk

STEPS = ("settle A", "recover", "claim B", "settle B", "cancel")
OVER = ("succeeded", "failed", "cancelled")
NOTHING = Lease(id="x", fence=0)


class Race:
    """One task, leased to worker A; what A, B, the watchdog and an operator do in some order."""

    def __init__(self, desk: Desk, outcome: Outcome) -> None:
        self.desk, self.outcome = desk, outcome
        desk.push("x", retries=1)
        self.a, self.b = desk.lease("A"), NOTHING
        self.accepted: list[str] = []
        self.steps: dict[str, Callable[[], None]] = {
            "settle A": lambda: self.settle(self.a, "A"),
            "recover": self.recover,
            "claim B": self.claim,
            "settle B": lambda: self.settle(self.b, "B"),
            "cancel": self.cancel,
        }

    def settle(self, lease: Lease, worker: str) -> None:
        """A settlement is accepted if and only if its lease is the newest."""
        holds = self.desk.state("x") == "locked" and self.desk.record("x").fence == lease.fence
        word = self.desk.settle(lease, self.outcome, worker=worker)
        assert (word == "OK") == holds
        self.accepted += [worker] if word == "OK" else []

    def recover(self) -> None:
        """The lease, or the back-off, of the task ends; twice, as if two watchdogs had seen it."""
        if self.desk.state("x") in ("locked", "restart"):
            self.desk.expire("x")
            self.desk.tick()

    def claim(self) -> None:
        """B takes the task, if it is ready."""
        ready = self.desk.state("x") == "pending"
        leases = self.desk.claim(1, "B")
        assert bool(leases) == ready
        if leases:
            self.b = leases[0]

    def cancel(self) -> None:
        """At once, or a wish."""
        word = self.desk.told("cancel", "x")
        assert word == ("REFUSED" if self.desk.counted("tr|locked>succeeded") else word)

    def finish(self) -> None:
        """Whatever is left goes on to its end."""
        while self.desk.state("x") not in OVER:
            self.desk.expire("x")
            for lease in self.desk.claim(1, "C"):
                self.desk.settle(lease, worker="C")


@pytest.mark.parametrize("outcome", [Outcome.SUCCESS, Outcome.ERROR, Outcome.RELEASE])
def test_every_order_of_a_race_leaves_one_outcome(desk: Desk, outcome: Outcome) -> None:
    for number, order in enumerate(permutations(STEPS)):
        desk.client.flushall()
        race = Race(desk, outcome)
        for step in order:
            race.steps[step]()
            desk.check()
        race.finish()
        picture = desk.check()
        ended = sum(desk.counted(f"tr|{source}>{over}") for source in ("locked", "pending", "restart") for over in OVER)
        assert ended == 1, f"order {number}: {order}"
        assert sum(len(picture.scores(f"state:{state}")) for state in OVER) == 1
        if outcome is Outcome.SUCCESS:
            assert len(race.accepted) <= 1
