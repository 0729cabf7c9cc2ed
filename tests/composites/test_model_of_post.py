"""Random trees over three pools, and random fates of the commands between them, beside a plain model.

A command is taken and applied, applied twice, applied and not spoken of, not applied at all; it fails until it is dead,
is tried again or dropped by an operator; its target is gone, or another generation by now.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from queueops.conf import Settings
from queueops.model.contracts import Command, Lease, Outcome, RoundTrip, Told
from queueops.redis.broker import RedisBroker
from tests.composites.model_of_post import MOST_TRIES, Letter, Part, PostModel
from tests.composites.model_trees import picks, plain
from tests.composites.pools import Pools
from tests.composites.trees_over_pools import grown, pools_, pushed, trees
from tests.kernel.desk import NEVER_MS
from tests.support.machines import run_machine
from tests.support.places import APART, CLUSTER
from tests.support.servers import use_scripts

EXAMPLES = int(os.environ.get("QUEUEOPS_TESTS_EXAMPLES", "24"))
ROOTS = {"r0": "default", "r1": "north"}
PLACES = {"due": "commands", "later": "commands", "locked": "commands_locked", "dead": "commands_dead"}

ends = st.sampled_from([Outcome.SUCCESS] * 4 + [Outcome.ERROR, Outcome.RELEASE, Outcome.CANCEL])


class Post(RuleBasedStateMachine):
    """Every fate of a command, while trees are planted, run, fail and are cancelled."""

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
        for desk in self.pools.desks.values():  # no pool asks about parts by itself, however long an example takes
            desk.client.hset(desk.keys.clock, "asked_far", desk.now() + NEVER_MS)
        self.model = PostModel()
        self.numbers = itertools.count(1)
        self.leases: list[Lease] = []
        self.held: list[tuple[Command, Letter]] = []
        self.answers: list[tuple[Told, Letter, str]] = []
        self.was_lost = False
        self.seen: dict[str, int] = {}

    def teardown(self) -> None:
        """Whatever is left comes to its end, once nothing goes wrong any more."""
        try:
            self.finish()
        finally:
            self.pools.broker.close()

    # Trees

    @initialize(first=trees, second=trees)
    def begin(self, first: Any, second: Any) -> None:
        """There is something to do."""
        self.plant("r0", first)
        self.plant("r1", second)

    @rule(root=st.sampled_from(sorted(ROOTS)), tree=trees)
    def plant(self, root: str, tree: Any) -> None:
        """A tree, also under an id that has ended: what is said to the one before is in vain then."""
        nodes = grown(root, ROOTS[root], tree, self.numbers)
        old = self.model.nodes.get(root)
        answer = self.pools.broker.plant(pushed(nodes))
        if old and not old.is_over:
            assert answer.word == "EXISTS"
        else:
            assert answer.word == self.model.plant([*nodes]) == "OK"

    @rule(pick=picks)
    def cancel(self, pick: int) -> None:
        """An operator cancels a part, or the whole."""
        node = self.one_of((node for node in self.model.nodes.values() if not node.is_over), pick)
        if node and pick % 2:
            assert self.pools[node.pool].told("cancel", node.id) == "OK"
            self.model.cancel(node)
            self.model.settle_up()

    @rule(pick=picks)
    def lose_a_parent(self, pick: int) -> None:
        """A part in another pool belongs to another parent by now: commands to it go to one that is gone."""
        away = (node for node in self.model.nodes.values() if self.model.part(node.id).is_away and not node.is_over)
        node = self.one_of((each for each in away if each.parent in ROOTS), pick)
        if node and pick % 5 == 0:
            desk = self.pools[node.pool]
            desk.client.hset(desk.keys.task(node.id), "pi", "another")
            node.parent, self.was_lost = "another", True

    # Work

    @rule(pool=pools_, want=st.integers(1, 3))
    def claim(self, pool: str, want: int) -> None:
        """What is ready is claimed, with the result of what was before it."""
        ready = {node.id for node in self.parts(pool) if node.state == "pending"}
        leases = self.pools.broker.exchange(pool, "w1", RoundTrip(want=want)).leases
        assert len(leases) == min(want, len(ready))
        for lease in leases:
            assert lease.id in ready
            node = self.model.nodes[lease.id]
            assert plain(lease.previous) == node.previous, (lease, node)
            node.state, node.fence = "locked", lease.fence
        self.leases += leases

    @precondition(lambda self: self.leases)
    @rule(pick=picks, outcome=ends, takes=st.booleans())
    def settle(self, pick: int, outcome: Outcome, takes: bool) -> None:
        """A task ends; its worker may take what that brings about, in the same call."""
        lease = self.leases.pop(pick % len(self.leases))
        before, node = len(self.model.letters), self.model.nodes[lease.id]
        if outcome is Outcome.RELEASE and not node.cancel:
            node.state = "pending"
        else:
            # A cancelled task has no failed attempt, whatever it raised.
            cancelled = outcome in (Outcome.RELEASE, Outcome.CANCEL) or (node.cancel and outcome is Outcome.ERROR)
            state = "cancelled" if cancelled else "succeeded" if outcome is Outcome.SUCCESS else "failed"
            self.model.finish(node, state, lease.id if state == "succeeded" else None)
            self.model.settle_up()
        end = self.pools.end(lease, json.dumps(lease.id).encode())
        end.outcome, end.delay_ms = outcome, -1
        found = self.pools.broker.exchange(lease.pool, "w1", RoundTrip(settle=[end], take=0 if takes else -1))
        assert found.settled == ["OK"]
        fresh = [each for each in self.model.letters[before:] if takes and each.pool == lease.pool]
        for letter in fresh:
            letter.place = "locked"
        self.bind()
        taken = self.take_up(found.commands, "locked")
        assert sorted(letter.id for _, letter in taken) == sorted(letter.id for letter in fresh)  # in any order

    # The post

    @rule(pool=pools_, most=st.sampled_from([1, 2, 100]))
    def take(self, pool: str, most: int) -> None:
        """A process takes what is due."""
        due = [letter for letter in self.model.letters if (letter.pool, letter.place) == (pool, "due")]
        taken = self.take_up(self.pools.take(pool, most))
        assert len(taken) <= len(due)
        assert most < 100 or len(taken) == len(due)

    def take_up(self, commands: Iterable[Command], place: str = "due") -> list[tuple[Command, Letter]]:
        """They are held now. Of progress only the last word counts, which the end repeats: it is brought at once."""
        taken = []
        for command in commands:
            letter = next((each for each in self.model.letters if each.identity == (command.pool, command.id)), None)
            if letter is None:
                assert command.id.startswith("progress:")
                (told,) = self.pools.apply(command)
                self.pools.tell(command.pool, told)
                self.model.dropped[command.pool] += told.word == "GONE"
            else:
                assert letter.place == place
                letter.place = "locked"
                taken.append((command, letter))
        self.held = (self.held + taken)[-20:]
        return taken

    @precondition(lambda self: self.held)
    @rule(pick=picks, times=st.sampled_from([1, 1, 2]))
    def apply(self, pick: int, times: int) -> None:
        """What a process has taken is applied, perhaps twice, perhaps long after others have done so."""
        command, letter = self.held[-1 - pick % len(self.held)]
        for _ in range(times):
            (told,) = self.pools.apply(command)
            word = self.model.read(letter)
            assert told.word == word, (told, letter)
            self.answers = [*self.answers, (told, letter, word)][-20:]

    @precondition(lambda self: self.answers)
    @rule(pick=picks)
    def tell(self, pick: int) -> None:
        """How one went is said where it was taken."""
        told, letter, word = self.answers[-1 - pick % len(self.answers)]
        self.pools.tell(letter.pool, told)
        self.model.conclude(letter, word)

    @precondition(lambda self: self.held)
    @rule(pick=picks, often=st.booleans(), verb=st.sampled_from(["", "", "requeue", "drop"]))
    def fail(self, pick: int, often: bool, verb: str) -> None:
        """One could not be applied; when that was so too often, it lies with the dead, where an operator may act."""
        command, letter = self.held[-1 - pick % len(self.held)]
        if often and letter in self.model.letters:
            letter.tries = max(letter.tries, MOST_TRIES - 1)
            self.pools[letter.pool].client.hset(self.pools[letter.pool].keys.command(letter.id), "n", letter.tries)
        self.pools.tell(letter.pool, Told(command.id, command.version, "FAILED", b"no"))
        self.model.conclude(letter, "FAILED")
        if verb and letter in self.model.letters:
            self.operate(letter, verb)

    @rule(pool=pools_, die=st.booleans())
    def let_locks_end(self, pool: str, die: bool) -> None:
        """A process that took commands reported nothing in time, because it is dead or late: they come again."""
        self.held = [(command, letter) for command, letter in self.held if not (die and letter.pool == pool)]
        desk = self.pools[pool]
        for name in desk.client.zrange(desk.keys.commands_locked, 0, -1):
            desk.client.zadd(desk.keys.commands_locked, {name: 1})
        desk.make_due("~commands:")
        desk.tick()
        for letter in self.model.letters:
            if (letter.pool, letter.place) == (pool, "locked"):
                self.model.put_off(letter, silent=True)

    @rule(pool=pools_)
    def let_time_come(self, pool: str) -> None:
        """What was put off is due."""
        self.pools.make_due(pool)
        for letter in self.model.letters:
            if (letter.pool, letter.place) == (pool, "later"):
                letter.place = "due"

    @precondition(lambda self: self.model.letters)
    @rule(pick=picks, verb=st.sampled_from(["requeue", "drop"]))
    def redeliver(self, pick: int, verb: str) -> None:
        """An operator has one tried at once, or drops it; but not one that a process has taken."""
        self.operate(self.model.letters[pick % len(self.model.letters)], verb)

    def operate(self, letter: Letter, verb: str) -> None:
        """What an operator is answered, and what follows."""
        (row,), _ = self.pools.broker.redeliver(letter.pool, verb, [letter.id])
        assert row.word == ("REFUSED" if letter.place == "locked" else "OK")
        if row.word == "OK" and verb == "drop":
            self.model.letters.remove(letter)
            self.was_lost = True
        elif row.word == "OK":
            letter.place, letter.tries = "due", 0

    @rule(pool=pools_)
    def bring(self, pool: str) -> None:
        """All goes well: what is due is taken, applied and spoken of."""
        for command, letter in self.take_up(self.pools.take(pool)):
            (told,) = self.pools.apply(command)
            word = self.model.read(letter)
            assert told.word == word, (told, letter)
            self.pools.tell(pool, told)
            self.model.conclude(letter, word)

    # Agreement

    @invariant()
    def agree(self) -> None:
        """Every task, and every command, is as the model says, and every invariant of each pool holds."""
        self.bind()
        for pool, desk in self.pools.desks.items():
            picture = desk.check()
            records = picture.records()
            assert {key: row["s"] for key, row in records.items()} == {node.id: node.state for node in self.parts(pool)}
            for node in self.parts(pool):
                assert picture.members(f"task:{node.id}#open") == {self.ref(child, pool) for child in node.open}, node
                if node.state == "succeeded":
                    assert plain(records[node.id].get("re", "").encode()) == node.result, node
            assert desk.counted("cmd|dropped") == self.model.dropped[pool]

    def bind(self) -> None:
        """The outboxes hold what the model has sent and no more, each in its place; time does not move it.

        A deferral is short, and may be over by now: it ends later than the last look at its pool.
        """
        for pool, desk in self.pools.desks.items():
            client, now = desk.client, desk.now()
            seen, self.seen[pool] = self.seen.get(pool, 0), now
            found: dict[tuple[str, ...], list[tuple[str, str, float]]] = {}
            for place in ("commands", "commands_locked", "commands_dead"):
                for name, at in client.zrange(getattr(desk.keys, place), 0, -1, withscores=True):
                    address = tuple(
                        each.decode() for each in client.hmget(desk.keys.command(name.decode()), "v", "to", "i", "me")
                    )
                    if address[0] != "progress":
                        found.setdefault(address, []).append((name.decode(), place, at))
            sent: dict[tuple[str, ...], list[Letter]] = {}
            for letter in self.model.letters:
                if letter.pool == pool:
                    sent.setdefault(letter.address, []).append(letter)
            assert {key: len(each) for key, each in found.items()} == {key: len(each) for key, each in sent.items()}
            for address, letters in sent.items():
                for letter, (name, place, at) in zip(letters, sorted(found[address]), strict=True):
                    assert letter.id in ("", name)
                    letter.id = name
                    assert place == PLACES[letter.place], (letter, place)
                    assert at > seen if letter.place == "later" else letter.place != "due" or at <= now, (letter, at)
            never = now + NEVER_MS
            later = [each.id for each in self.model.letters if (each.pool, each.place) == (pool, "later")]
            client.zadd(desk.keys.commands, dict.fromkeys(later, never)) if later else None
            locked = client.zrange(desk.keys.commands_locked, 0, -1)
            client.zadd(desk.keys.commands_locked, dict.fromkeys(locked, never)) if locked else None

    def ref(self, task_id: str, pool: str) -> str:
        """As a parent in this pool knows a child."""
        child = self.model.part(task_id)
        return task_id if child.pool == pool else f"{task_id}#{child.pool}"

    def parts(self, pool: str) -> list[Part]:
        """The tasks of a pool."""
        return [part for node in self.model.nodes.values() if (part := self.model.part(node.id)).pool == pool]

    def one_of(self, nodes: Iterable[Any], pick: int) -> Part | None:
        """One that the pick says, if there is any."""
        found = list(nodes)
        return self.model.part(found[pick // 5 % len(found)].id) if found else None

    # The end

    def finish(self) -> None:
        """Nothing goes wrong any more: all outboxes drain, and every composite ends as the model says."""
        self.agree()
        for _ in range(100):
            if not (
                self.model.letters or self.leases or any(node.state == "pending" for node in self.model.nodes.values())
            ):
                break
            for letter in [letter for letter in self.model.letters if letter.place == "dead"]:
                self.pools.broker.redeliver(letter.pool, "requeue", [letter.id])
                letter.place, letter.tries = "due", 0
            for pool in APART:
                self.let_locks_end(pool, die=True)
                self.bind()
                self.let_time_come(pool)
                self.bring(pool)
                self.claim(pool, 100)
            while self.leases:
                self.settle(0, Outcome.SUCCESS, takes=False)
            self.agree()
        assert not self.model.letters
        if self.was_lost:
            self.find_out()
        else:
            assert all(node.is_over for node in self.model.nodes.values()), self.model.nodes

    def find_out(self) -> None:
        """What was dropped, or has lost its parent, is found out by those who wait for it."""
        self.model.come_to_rest()
        for _ in range(60):
            if all(
                self.pools[pool].state(root) in ("succeeded", "failed", "cancelled") for root, pool in ROOTS.items()
            ):
                break
            for pool, desk in self.pools.desks.items():
                idle = desk.client.zrange(desk.keys.state("idle"), 0, -1)
                if idle:
                    desk.client.zadd(desk.keys.state("idle"), dict.fromkeys(idle, 1))
                desk.client.hdel(desk.keys.clock, "asked_far")
                desk.tick()
                self.pools.make_due(pool)
            self.pools.drain(lambda lease: (Outcome.SUCCESS, json.dumps(lease.id).encode()))
        for root, pool in ROOTS.items():
            assert self.pools[pool].state(root) == self.model.nodes[root].state, self.say()

    def say(self) -> str:
        """All that is in the store."""
        lines = []
        for pool, desk in self.pools.desks.items():
            picture = desk.check()
            for key, row in picture.records().items():
                lines.append(f"{pool} {key} {row} open {picture.members(f'task:{key}#open')}")
            lines += [f"{pool} command {picture.hash(f'command:{name}')}" for name in picture.under("command:")]
        return "\n".join(lines)


class PostOfScripts(Post):
    """The same on a server without functions."""

    has_functions = False


@pytest.mark.parametrize(("machine", "share"), [(Post, 1), (PostOfScripts, 4)])
def test_commands_and_a_model_of_them_agree_whatever_happens(
    redis_url: str, namespace: str, place: str, machine: type[Post], share: int
) -> None:
    machine.url, machine.namespace = redis_url, namespace
    run_machine(machine, examples=EXAMPLES // share // (4 if place == CLUSTER else 1) or 1, steps=30)
