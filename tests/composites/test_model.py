"""Random trees of chains, groups, iterators and map-reduce tasks, and random operations on them, beside a plain model.

They are in one pool; those that go over several, and their commands, are in `test_model_of_post`.
"""

from __future__ import annotations

import itertools
import json
import os
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from queueops.conf import Settings
from queueops.errors import StaleLease
from queueops.errors.composites import PartInUse
from queueops.model.contracts import Lease, Node, Outcome
from queueops.redis.broker import RedisBroker
from tests.composites import model as models
from tests.composites.model import LEASED, MAX_CRASHES, TIMED
from tests.composites.model_of_work import WorkedModel
from tests.composites.model_trees import emitted, ends, grown, picks, plain, pushed, steps, trees
from tests.kernel.desk import NEVER_MS, Desk, make
from tests.kernel.picture import Picture
from tests.support.machines import run_machine
from tests.support.places import CLUSTER

ROOTS, WORKERS = ["r0", "r1", "r2"], ["w1", "w2"]
TALLY = {"ended": "pr", "f": "tf", "c": "tc", "x": "tx"}
EXAMPLES = int(os.environ.get("QUEUEOPS_TESTS_EXAMPLES", "40"))


class Composites(RuleBasedStateMachine):
    """Every operation on every node, in every state; after each, the store and the model are compared."""

    url = ""

    def __init__(self) -> None:
        super().__init__()
        config = Settings(url=self.url, namespace="composites", lease=1000.0, max_crashes=MAX_CRASHES)
        self.desk = Desk(RedisBroker(config))
        self.desk.client.flushall()
        self.model = WorkedModel()
        self.leases: list[Lease] = []
        self.sent: list[tuple[list[Node], str]] = []
        self.put_off: set[str] = set()
        self.numbers = itertools.count(1)

    def teardown(self) -> None:
        """Whatever is left comes to its end, once nothing goes wrong any more."""
        try:
            self.finish()
        finally:
            self.desk.broker.close()

    def of(self, pick: int, *states: str) -> models.Node | None:
        """A node, mostly one in these states."""
        found = [node for node in self.model.nodes.values() if node.state in states or pick % 7 == 0]
        return found[pick // 7 % len(found)] if found else None

    # Producing

    @initialize(tree=trees)
    def begin(self, tree: Any) -> None:
        """There is something to do."""
        self.plant(tree, "r0", False)

    @rule(tree=trees, root=st.sampled_from(ROOTS), delayed=st.sampled_from([False, False, False, True]))
    def plant(self, tree: Any, root: str, delayed: bool) -> None:
        """Push a tree; an id that is in use keeps all of it away."""
        token = f"token {next(self.numbers)}"
        nodes = grown(tree, root, delayed=delayed)
        sent = pushed(nodes, token)
        expected = self.model.plant(nodes)
        if expected == "IN USE":
            with pytest.raises(PartInUse):
                self.desk.broker.plant(sent)
        else:
            assert self.desk.broker.plant(sent).word == expected
        if expected == "OK":
            nodes[0].token = token
            self.sent.append((sent, token))
        self.agree()

    @precondition(lambda self: self.sent)
    @rule(pick=picks)
    def plant_the_same_again(self, pick: int) -> None:
        """The reply of a push was lost, and it is made again."""
        sent, token = self.sent[pick % len(self.sent)]
        found = self.model.nodes.get(sent[0].push.id)
        if found and found.token == token:
            before = self.desk.everything()
            assert self.desk.broker.plant(sent).word == "REPEAT"
            assert self.desk.everything() == before

    # Working

    @rule(want=st.integers(1, 4), worker=st.sampled_from(WORKERS))
    def claim(self, want: int, worker: str) -> None:
        """A worker takes what is ready; each is given the result before it."""
        leases = self.desk.claim(want, worker)
        for lease, previous in self.model.claim(leases, want):
            assert plain(lease.previous) == previous, lease
            self.model.nodes[lease.id].answer = ""
        self.leases += leases
        self.agree()

    @precondition(lambda self: self.leases)
    @rule(several=st.lists(ends, min_size=1, max_size=4))
    def settle_several(self, several: list[tuple[Any, ...]]) -> None:
        """Leases end, good ones or old ones, some of them told twice."""
        for end in several:
            self.settle(*end)
        self.agree()

    def settle(self, pick: int, outcome: Outcome, again: bool, parts: list[Any], times: int) -> None:
        """One lease ends; an iterator has written its tasks before."""
        lease = self.lease_at(pick)
        node = self.model.nodes.get(lease.id)
        if lease.kind == "iterator" and outcome is Outcome.SUCCESS:
            self.iterate(lease, parts, ("next", "idle", "done")[pick % 3] if not parts else "next")
        result = f"{lease.id} {lease.fence}"
        value = b"0" if node and node.state == "mapping" else json.dumps(result).encode()
        values = {"delay_ms": NEVER_MS if again else -1} if outcome is Outcome.ERROR else {}
        for _ in range(times):
            expected = self.model.settle(lease, outcome, result, again=again)
            assert self.desk.settle(lease, outcome, value, **values) == expected
            self.stop_the_clock()

    def lease_at(self, pick: int) -> Lease:
        """A lease that was given once: mostly a good one."""
        nodes = self.model.nodes
        good = [
            each
            for each in self.leases
            if (node := nodes.get(each.id)) and node.state in LEASED and node.fence == each.fence
        ]
        among = good if pick % 5 and good else self.leases
        return among[pick // 5 % len(among)]

    @precondition(lambda self: self.leases)
    @rule(pick=picks, parts=st.lists(emitted, max_size=3))
    def iterate_and_die(self, pick: int, parts: list[Any]) -> None:
        """What a run has written counts for nothing until it settles."""
        iterating = [each for each in self.leases if each.kind == "iterator"]
        if iterating:
            self.iterate(iterating[pick % len(iterating)], parts, "next")
            self.agree()

    def iterate(self, lease: Lease, parts: list[Any], answer: str) -> None:
        """Write the tasks of a batch."""
        node = self.model.nodes.get(lease.id)
        nodes: list[models.Node] = []
        for part in parts:
            nodes += grown(part, f"{lease.id}.e{next(self.numbers)}", lease.id, lease.id)
        everyone = [Node(make(lease.id), -1, 0), *pushed(nodes, first=1)]
        answer = answer if parts or answer != "next" else "idle"
        if node and node.state == "locked" and node.fence == lease.fence:
            self.desk.broker.emit(lease, everyone, answer, b"")
            self.model.emit(node, nodes, answer)
        else:
            with pytest.raises(StaleLease):
                self.desk.broker.emit(lease, everyone, answer, b"")

    @precondition(lambda self: self.leases)
    @rule(
        pick=picks,
        done=steps,
        total=st.sampled_from([None, None, 0, 4, 100]),
    )
    def advance(self, pick: int, done: float, total: float | None) -> None:
        """A running task says how far it is."""
        lease = self.lease_at(pick)
        if lease.kind != "task":
            return
        node = self.model.nodes.get(lease.id)
        good = node is not None and node.state in LEASED and node.fence == lease.fence
        word = "OK" if good else "GONE" if node is None else "STALE"
        assert self.desk.broker.advance(lease.pool, lease.id, lease.fence, done, total) == word
        if node is not None and good:
            self.model.advance(node, done, total)
        self.agree()

    # Time

    @rule(pick=picks)
    def lose_a_worker(self, pick: int) -> None:
        """A lease ends without a word."""
        node = self.of(pick - pick % 7 + 1, *LEASED)
        if node:
            self.desk.make_due(node.id)
            self.desk.tick()
            self.model.lose_lease(node)
            self.agree()

    @rule(pick=picks)
    def let_a_delay_end(self, pick: int) -> None:
        """What was put off comes."""
        node = self.of(pick - pick % 7 + 1, *TIMED)
        if node:
            self.put_off.discard(node.id)
            self.desk.make_due(node.id)
            self.desk.tick()
            self.model.come_due(node)
            self.agree()

    @rule(pick=picks)
    def let_a_retention_end(self, pick: int) -> None:
        """What is over goes, but parts stay as long as what they are part of."""
        node = self.of(pick - pick % 7 + 1, *models.TERMINAL)
        if node and pick % 3 == 0:
            self.desk.make_due(node.id)
            self.desk.tick()
            self.model.expire(node)
            self.agree()

    # Controlling

    @rule(pick=picks)
    def cancel(self, pick: int) -> None:
        """Any node, its subtree with it."""
        node = self.of(pick, "idle", "pending", "waiting", *TIMED, *LEASED)
        if node and pick % 2:
            assert self.desk.told("cancel", node.id) == ("REFUSED" if node.is_over else "OK")
            if not node.is_over:
                self.model.cancel(node)
                self.model.settle_up()
            self.agree()

    @rule(pick=picks, everything=st.booleans())
    def retry(self, pick: int, everything: bool) -> None:
        """What failed and what follows from it, or all; a part only by what it is part of."""
        node = self.of(pick - pick % 7 + 1, *models.TERMINAL)
        if node:
            may = self.model.may_retry(node)
            assert self.desk.told("retry", node.id, value="all" if everything else "") == ("OK" if may else "REFUSED")
            if may:
                self.model.retry(node, everything)
            self.agree()

    @rule(several=st.lists(ends, max_size=4), everything=st.sampled_from([False, False, True]))
    def come_again_while_parts_of_it_run(self, several: list[tuple[Any, ...]], everything: bool) -> None:
        """A tree is cancelled, some of what runs in it ends in its own way, and an operator has it come again."""
        root = next((each for each in self.model.nodes.values() if each.state == "idle" and not each.root), None)
        if root:
            self.claim(3, "w1")
            assert self.desk.told("cancel", root.id) == "OK"
            self.model.cancel(root)
            self.model.settle_up()
            for pick, *end in several:
                if self.leases:
                    self.settle(pick - pick % 5 + 1, *end)
            assert self.desk.told("retry", root.id, value="all" if everything else "") == "OK"
            self.model.retry(root, everything)
            self.agree()

    @rule(pick=picks)
    def delete(self, pick: int) -> None:
        """What is over."""
        node = self.of(pick - pick % 7 + 1, *models.TERMINAL)
        if node and pick % 3 == 0:
            assert self.desk.told("delete", node.id) == "OK"
            self.model.delete(node)
            self.agree()

    # Comparing

    def agree(self) -> None:
        """The store is sound, and every node is where the model has it."""
        self.stop_the_clock()
        self.desk.tick()  # what the agenda erases
        picture = self.desk.check()
        records = picture.records()
        assert {key: row["s"] for key, row in records.items()} == {
            node.id: node.state for node in self.model.nodes.values()
        }
        for node in self.model.nodes.values():
            opened = picture.members(f"task:{node.id}#open")
            assert opened == (node.open if not node.is_leaf or node.kind == "iterator" else set()), node
            row = records[node.id]
            if not node.is_leaf and not node.root:
                assert (float(row["pr"]), float(row["to"])) == (node.done, node.total), node
            if node.state == "succeeded":
                assert plain(row.get("re", "").encode()) == node.result, node
            if node.kind == "iterator":
                self.agree_on_ended(node, row, picture)

    def agree_on_ended(self, node: models.Node, row: dict[str, str], picture: Picture) -> None:
        """An iterator knows what has ended, how, and what comes again; of those that end in one call in any order."""
        told = {name: int(row.get(field, 0)) for name, field in TALLY.items()}
        assert told == {name: node.tally[name] for name in TALLY}, node
        assert (int(row.get("to", 0)), int(row.get("rq", 0))) == (node.emitted, node.to_come), node
        assert sorted(picture.items(f"task:{node.id}#latest")) == sorted(node.ended[-100:]), node
        entries = picture.items(f"task:{node.id}#failures")
        assert sorted(entries) == sorted(map("".join, node.unwell)), node
        node.unwell = [(entry[0], entry[1:]) for entry in entries]

    def stop_the_clock(self) -> None:
        """Nothing comes due by itself."""
        timed = {node.id for node in self.model.nodes.values() if node.state in TIMED}
        self.desk.put_off(*(timed - self.put_off))
        self.put_off = timed

    def finish(self) -> None:
        """All leases are lost or settled, all delays end: every composite ends, and nothing of it is open."""
        for _ in range(400):
            for node in list(self.model.nodes.values()):
                if node.state in TIMED:
                    self.desk.make_due(node.id)
                    self.desk.tick()
                    self.model.come_due(node)
            leases = [each for each in self.leases if self.is_good(each)] or self.desk.claim(4)
            fresh = [lease for lease in leases if lease not in self.leases]
            self.model.claim(fresh, 4) if fresh else None
            if not leases and not any(node.state in TIMED for node in self.model.nodes.values()):
                break
            self.leases += fresh
            for lease in leases:
                self.settle_well(lease)
        assert all(node.is_over for node in self.model.nodes.values()), self.model.nodes
        self.agree()

    def is_good(self, lease: Lease) -> bool:
        """Whether it still stands."""
        node = self.model.nodes.get(lease.id)
        return node is not None and node.state in LEASED and node.fence == lease.fence

    def settle_well(self, lease: Lease) -> None:
        """With success."""
        if self.is_good(lease):
            node = self.model.nodes[lease.id]
            if lease.kind == "iterator":
                self.iterate(lease, [], "done")
            value = b"0" if node.state == "mapping" else json.dumps(lease.id).encode()
            assert self.model.settle(lease, Outcome.SUCCESS, lease.id) == self.desk.settle(lease, value=value) == "OK"


def test_composites_and_a_model_of_them_agree_whatever_happens(redis_url: str, namespace: str, place: str) -> None:
    Composites.url = redis_url
    run_machine(Composites, examples=EXAMPLES // (8 if place == CLUSTER else 1) or 1, steps=30)
