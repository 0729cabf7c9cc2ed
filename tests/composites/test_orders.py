"""All orders of a race about one task of a composite leave one end of each, whichever call comes first."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, permutations

import pytest

from queueops.model.contracts import Lease, Outcome
from tests.composites.trees import chain_of, group_of, open_children, plant
from tests.kernel.desk import Desk
from tests.support.places import CLUSTER

STEPS = ("settle A", "recover", "claim B", "settle B", "cancel")
OVER = ("succeeded", "failed", "cancelled")
NOTHING = Lease(id="a", fence=0)


class Race:
    """A group of a chain, whose first task is leased to worker A, and of another task."""

    def __init__(self, desk: Desk, outcome: Outcome, target: str) -> None:
        self.desk, self.outcome, self.target = desk, outcome, target
        plant(desk, group_of("g", chain_of("c", "a", "b"), "d", of="outcomes"))
        self.a, self.b = desk.lease("A"), NOTHING
        self.steps: dict[str, Callable[[], object]] = {
            "settle A": lambda: desk.settle(self.a, outcome, b"{}", worker="A", delay_ms=-1),
            "recover": lambda: desk.state("a") == "locked" and desk.expire("a"),
            "claim B": self.claim,
            "settle B": lambda: desk.settle(self.b, outcome, b"{}", worker="B", delay_ms=-1),
            "cancel": lambda: desk.told("cancel", target),
        }

    def claim(self) -> None:
        """B takes the first task again, if it is ready."""
        if self.desk.state("a") == "pending":
            self.b = next(lease for lease in self.desk.claim(5, "B") if lease.id == "a")

    def finish(self) -> None:
        """Whatever is left goes on to its end."""
        while not set(self.desk.states("g", "c", "a", "b", "d")) <= set(OVER):
            leased = [task_id for task_id in ("a", "b", "d") if self.desk.state(task_id) in ("locked", "restart")]
            self.desk.expire(*leased)
            for lease in self.desk.claim(5, "C"):
                self.desk.settle(lease, worker="C")


@pytest.mark.parametrize("target", ["a", "c", "g"])
@pytest.mark.parametrize("outcome", [Outcome.SUCCESS, Outcome.ERROR])
def test_every_order_of_a_race_leaves_one_end_of_each(desk: Desk, place: str, outcome: Outcome, target: str) -> None:
    for order in islice(permutations(STEPS), 0, None, 5 if place == CLUSTER else 1):  # it is a race within one pool
        desk.client.flushall()
        race = Race(desk, outcome, target)
        for step in order:
            race.steps[step]()
            desk.check()
        race.finish()
        desk.check()
        ends = sum(desk.counted(f"tr|idle>{state}") for state in OVER)
        assert ends == 2, order
        assert open_children(desk, "g") == open_children(desk, "c") == set()
