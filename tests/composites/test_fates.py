"""Random trees with iterators over three pools, run, cancelled and retried, while their commands meet with anything.

Not each step is foretold, as the models do it: once nothing goes wrong any more, all has ended as its parts did, and a
retry brings what failed to its end.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from queueops.conf import Settings
from queueops.errors import StaleLease
from queueops.errors.composites import PartInUse
from queueops.model.contracts import Command, Lease, Node, Outcome, RoundTrip, Told
from queueops.redis.broker import RedisBroker
from tests.composites.model import TERMINAL, TIMED
from tests.composites.model_of_post import Part
from tests.composites.model_trees import picks, plain
from tests.composites.pools import Pools
from tests.composites.trees_over_pools import grown, leaves, pools_, pushed, trees_with_iterators
from tests.kernel.desk import make
from tests.support.machines import run_machine
from tests.support.places import APART, CLUSTER
from tests.support.servers import use_scripts

EXAMPLES = int(os.environ.get("QUEUEOPS_TESTS_EXAMPLES", "16"))
ROOTS = {"r0": "default", "r1": "north"}
OPEN = ("idle", "pending", "waiting", "locked", *TIMED)

chains = st.tuples(st.just("chain"), st.just("fail"), pools_, st.lists(leaves, min_size=1, max_size=2))
batches = st.lists(st.one_of(leaves, leaves, chains), max_size=4)
ends = st.sampled_from([Outcome.SUCCESS] * 5 + [Outcome.ERROR, Outcome.ERROR, Outcome.RELEASE, Outcome.CANCEL])

works = st.tuples(picks, ends, batches, st.booleans(), st.sampled_from([0, 0, 1, 3]))

Records = dict[str, dict[str, str]]


class Fates(RuleBasedStateMachine):
    """Nothing is lost for good: no command is dropped by hand, and no record goes."""

    url = ""
    namespace = ""
    has_functions = True

    def __init__(self) -> None:
        super().__init__()
        broker = RedisBroker(Settings(url=self.url, namespace=self.namespace, lease=1000.0))
        if not self.has_functions:
            use_scripts(broker)
        self.pools = Pools(broker, *APART[1:])
        self.pools.empty()
        self.numbers = itertools.count(1)
        self.leases: list[Lease] = []
        self.held: list[Command] = []
        self.answers: list[tuple[str, Told]] = []

    def teardown(self) -> None:
        """Whatever is left comes to its end, and what failed does after a retry."""
        try:
            self.come_to_rest()
            self.judge()
            self.retry_all()
        finally:
            self.pools.broker.close()

    # Trees

    @initialize(first=trees_with_iterators, second=trees_with_iterators)
    def begin(self, first: Any, second: Any) -> None:
        """There is something to do."""
        self.plant("r0", first)
        self.plant("r1", second)

    def plant(self, root: str, tree: Any) -> None:
        """A tree."""
        assert self.pools.broker.plant(pushed(grown(root, ROOTS[root], tree, self.numbers))).word == "OK"

    @rule(root=st.sampled_from(sorted(ROOTS)), tree=trees_with_iterators)
    def plant_anew(self, root: str, tree: Any) -> None:
        """Under an id that has ended."""
        if self.pools[ROOTS[root]].state(root) == "succeeded":
            self.plant(root, tree)

    @rule(pick=picks)
    def cancel(self, pick: int) -> None:
        """A part, or the whole."""
        found = [(pool, id) for pool, records in self.records() for id, row in records.items() if row["s"] in OPEN]
        if found and pick % 2:
            pool, id = found[pick // 2 % len(found)]
            assert self.pools[pool].told("cancel", id) == "OK"

    @rule(root=st.sampled_from(sorted(ROOTS)), everything=st.sampled_from([False, False, True]))
    def retry(self, root: str, everything: bool) -> None:
        """What failed, or all of it."""
        desk = self.pools[ROOTS[root]]
        if desk.state(root) in TERMINAL:
            assert desk.told("retry", root, value="all" if everything else "") == "OK"

    # Work

    @rule(several=st.lists(works, min_size=3, max_size=9), brings=st.sampled_from([True, True, False]))
    def work(self, several: list[tuple[Any, ...]], brings: bool) -> None:
        """Some of what is ready is run, or what was claimed long ago."""
        for pool in APART:
            self.leases += self.pools.broker.exchange(pool, "w1", RoundTrip(want=4)).leases
        for pick, outcome, parts, takes, want in several:
            if self.leases:
                lease = self.leases.pop(-1 - pick % len(self.leases) // 2)
                answer = "next" if parts else ("idle", "done")[pick % 2]
                self.held += self.end(lease, outcome, parts, answer, takes=takes, want=want)
        if brings:
            self.pools.deliver()

    def end(
        self, lease: Lease, outcome: Outcome, parts: Sequence[Any], answer: str, *, takes: bool = False, want: int = 0
    ) -> list[Command]:
        """One lease, good or old; what begins with that may be leased in the same call."""
        if lease.kind == "iterator" and outcome is Outcome.SUCCESS:
            with contextlib.suppress(StaleLease, PartInUse):
                self.pools.broker.emit(lease, self.batch(lease, parts), answer, b"")
        end = self.pools.end(lease, json.dumps(lease.id).encode())
        end.outcome, end.delay_ms = outcome, -1
        found = self.pools.broker.exchange(
            lease.pool, "w1", RoundTrip(settle=[end], take=0 if takes else -1, want=want)
        )
        self.leases += found.leases
        return found.commands

    def batch(self, lease: Lease, parts: Sequence[Any]) -> list[Node]:
        """What an iterator emits, behind itself."""
        top = Part(id=lease.id, kind="group", uid=0, pool=lease.pool)
        nodes = [top]
        for part in parts:
            branch = grown(f"e{next(self.numbers)}", part[2], part, self.numbers)
            branch[0].parent, branch[0].home = lease.id, lease.pool
            nodes += branch
        found = pushed(nodes)
        found[0].push = make(lease.id, pool=lease.pool)
        for node in found[1:]:
            node.push.root = lease.id
        return found

    @precondition(lambda self: self.leases)
    @rule(pick=picks)
    def lose_a_worker(self, pick: int) -> None:
        """A lease ends without a word."""
        lease = self.leases[pick % len(self.leases)]
        self.pools[lease.pool].expire(lease.id)

    # The post

    @rule(pool=pools_, most=st.sampled_from([1, 2, 100]))
    def take(self, pool: str, most: int) -> None:
        """A process takes what is due."""
        self.held = (self.held + self.pools.take(pool, most))[-20:]

    @precondition(lambda self: self.held)
    @rule(pick=picks, times=st.sampled_from([1, 1, 2]))
    def apply(self, pick: int, times: int) -> None:
        """What a process has taken is applied, perhaps twice, perhaps long after others have done so."""
        command = self.held[-1 - pick % len(self.held)]
        told = [told for _ in range(times) for told in self.pools.apply(command)]
        self.answers = [*self.answers, *((command.pool, each) for each in told)][-20:]

    @precondition(lambda self: self.answers)
    @rule(pick=picks)
    def tell(self, pick: int) -> None:
        """How one went is said where it was taken."""
        pool, told = self.answers[-1 - pick % len(self.answers)]
        self.pools.tell(pool, told)

    @rule(pool=pools_)
    def let_locks_end(self, pool: str) -> None:
        """A process that took commands reported nothing in time, because it is dead or late: they come again."""
        self.pools.unlock(pool)

    # The end

    def come_to_rest(self) -> None:
        """Nothing goes wrong any more: whatever is left is run well, until nothing is."""
        old, self.leases = self.leases, []
        for _ in range(200):
            self.pools.unlock(*APART)
            self.pools.deliver()
            self.let_time_come()
            for lease in old:
                self.end(lease, Outcome.SUCCESS, (), "done")
            old = [
                lease for pool in APART for lease in self.pools.broker.exchange(pool, "w1", RoundTrip(want=50)).leases
            ]
            if not old and not self.pools.commands():
                return
        raise AssertionError(f"it goes on for ever: {self.say()}")

    def let_time_come(self) -> None:
        """What was put off comes, and what the agenda does a part at a time is done."""
        for desk in self.pools.desks.values():
            picture = desk.check()
            desk.make_due(*(id for id, row in picture.records().items() if row["s"] in TIMED))
            desk.tick()

    def retry_all(self) -> None:
        """What did not succeed comes again, and all goes well."""
        for root, pool in ROOTS.items():
            if self.pools[pool].state(root) != "succeeded":
                assert self.pools[pool].told("retry", root) == "OK"
        self.come_to_rest()
        self.judge()
        assert [self.pools[pool].state(root) for root, pool in ROOTS.items()] == ["succeeded"] * 2, self.say()

    def judge(self) -> None:
        """All has ended, each composite as its parts say, and each has counted them."""
        self.pools.check()
        everything = {id: row for _, records in self.records() for id, row in records.items()}
        assert {row["s"] for row in everything.values()} <= set(TERMINAL), self.say()
        for id, row in everything.items():
            if row.get("k") in ("chain", "group"):
                self.judge_composite(id, row, everything)
            if row.get("k") == "iterator" and row["s"] == "succeeded":
                assert row.get("pr", "0") == row.get("to", "0"), self.say()
        for pool, desk in self.pools.desks.items():
            for sub in ("open", "asked", "drafts", "planted"):
                assert not list(desk.check().under("task:", sub=sub)), (pool, self.say())

    def judge_composite(self, id: str, row: dict[str, str], everything: Records) -> None:
        """Its state, and what it gave."""
        pool = next(pool for pool, records in self.records() if id in records)
        names = self.pools[pool].client.zrange(f"{self.pools[pool].keys.task(id)}#children", 0, -1)
        parts = [everything[name.decode().partition("#")[0]] for name in names]
        well = [part["s"] == "succeeded" for part in parts]
        if row["s"] == "succeeded":
            assert all(well) or row.get("of") == "outcomes", self.say()
            results = [plain(part.get("re", "").encode()) for part in parts]
            if row["k"] == "chain":
                assert plain(row.get("re", "").encode()) == results[-1], self.say()
            elif row.get("of") != "outcomes":
                assert plain(row["re"].encode()) == results, self.say()
        unwell = [part for part in everything.values() if part.get("ro") == id and part["s"] != "succeeded"]
        if "ro" not in row and row["s"] == "succeeded" and not unwell:
            assert row["pr"] == row["to"], self.say()

    def records(self) -> Iterator[tuple[str, Records]]:
        """All tasks, by pool."""
        for pool, desk in self.pools.desks.items():
            yield pool, desk.check().records()

    def say(self) -> str:
        """All that is in the store."""
        lines: Iterable[str] = (
            f"{pool} {id} {row} open {desk.check().members(f'task:{id}#open')}"
            for pool, desk in self.pools.desks.items()
            for id, row in desk.check().records().items()
        )
        return "\n".join(lines)


class FatesOfScripts(Fates):
    """The same on a server without functions."""

    has_functions = False


@pytest.mark.parametrize(("machine", "share"), [(Fates, 1), (FatesOfScripts, 4)])
def test_all_ends_as_its_parts_do_and_a_retry_ends_well_whatever_happened(
    redis_url: str, namespace: str, place: str, machine: type[Fates], share: int
) -> None:
    machine.url, machine.namespace = redis_url, namespace
    run_machine(machine, examples=EXAMPLES // share // (4 if place == CLUSTER else 1) or 1, steps=25)
