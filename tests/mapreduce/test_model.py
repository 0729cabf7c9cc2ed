"""Random operations on map-reduce tasks on a real server, beside a model in plain Python: they never disagree."""

from __future__ import annotations

import sys

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from queueops.conf import Settings
from queueops.kinds.mapreduce.states import CHUNKS, ChunkState
from queueops.model.contracts import Conflict, Lease, Outcome, Settlement
from queueops.redis.broker import RedisBroker
from tests.kernel.desk import NEVER_MS, POOL
from tests.kernel.test_fsck import checked
from tests.mapreduce.bench import ChunkDesk
from tests.mapreduce.model import LEASED, MAX_CRASHES, RETRIES, Model
from tests.support.machines import run_machine

IDS, WORKERS = ["a", "b"], ["w1", "w2"]
OUTCOMES = [
    *[Outcome.SUCCESS] * 4,
    *[Outcome.ERROR] * 3,
    Outcome.CRASH,
    Outcome.RELEASE,
    Outcome.CANCEL,
    Outcome.RESTART,
]
MENDING = ["retry", "postpone", "drop", "skip", "edit", "redo", "set", "release", "speculate"]
DATA = b'{"n":7}'


def value_for(verb: str) -> bytes:
    """What is to become of the data."""
    return {"set": b"100:" + DATA, "postpone": b"+%d" % NEVER_MS}.get(verb, DATA)


STATES = [str(state) for state in ChunkState]

task_ids, workers, picks = st.sampled_from(IDS), st.sampled_from(WORKERS), st.integers(0, 40)


class MapReduceKernel(RuleBasedStateMachine):
    """Every call about tasks with chunks, in every state."""

    url = ""

    def __init__(self) -> None:
        super().__init__()
        config = Settings(url=self.url, namespace="chunks", lease=1000.0, max_crashes=MAX_CRASHES)
        self.desk = ChunkDesk(RedisBroker(config))
        self.desk.client.flushall()
        self.model = Model()
        self.leases: list[Lease] = []

    def teardown(self) -> None:
        self.desk.broker.close()

    def lease_at(self, pick: int) -> Lease:
        """A lease that was given once: mostly a good one, else perhaps a stale one."""
        good = [lease for lease in self.leases if self.model.judge(lease) == "OK"]
        among = good if pick % 4 and good else self.leases
        return among[-1 - pick // 4 % len(among)] if among else Lease(id="a#0", fence=10**9)

    @initialize(limit=st.sampled_from([None, 2]), tolerated=st.integers(0, 2), key_limit=st.sampled_from([None, 1, 2]))
    def begin(self, limit: int | None, tolerated: int, key_limit: int | None = None) -> None:
        """There is something to do."""
        for task_id in IDS:
            self.push(task_id, tolerated, limit, key_limit)
        self.map(5, "w1")

    @rule(
        task_id=task_ids,
        tolerated=st.integers(0, 2),
        limit=st.sampled_from([None, None, 1, 2]),
        key_limit=st.sampled_from([None, 1, 2]),
    )
    def push(self, task_id: str, tolerated: int, limit: int | None, key_limit: int | None) -> None:
        """A new run of an id, over the old one; what that leaves behind is deleted. Chunks with a limit share a key."""
        own: dict[str, int | str] = {"max_parallel": limit} if limit else {}
        own |= {"ck": "k", "cl": key_limit} if key_limit else {}
        self.desk.push_mapreduce(
            task_id, drop=str(tolerated), chunk_retries=RETRIES, retries=RETRIES, conflict=Conflict.REPLACE, **own
        )
        self.model.push(task_id, tolerated, limit, key_limit)
        self.desk.tick()

    @rule(size=st.integers(0, 6), worker=workers, ends=st.sampled_from([True, True, False]))
    def map(self, size: int, worker: str, ends: bool = True) -> None:
        """Everything that waits for its map is mapped; or it is only written, and what ends it is yet to come."""
        self.claim(20, worker)
        for lease in [each for each in self.leases if self.model.judge(each) == "OK" and not each.phase]:
            if lease.kind == "mapreduce":
                self.write(lease, size)
                if ends:
                    self.settle(lease, Outcome.SUCCESS, 0, False, str(size))

    def write(self, lease: Lease, size: int) -> None:
        """A map writes stages of two chunks behind those that stand, unless it makes fewer than those."""
        broker = self.desk.broker
        kept = broker.begin_map(POOL, lease.id, lease.fence)
        assert kept == self.model.begin_map(lease.id)
        if kept > size:
            kept = 0
            broker.make_room(POOL, lease.id, lease.fence)
        for first in range(kept, size, 2):
            broker.split(POOL, lease.id, lease.fence, first, [DATA] * min(2, size - first))
        self.model.write(lease.id, size)

    @rule(want=st.integers(1, 4), worker=workers)
    def claim(self, want: int, worker: str) -> None:
        """Claim some."""
        found = self.desk.claim(want, worker)
        self.model.claim(found, want, worker)
        self.leases += found
        self.forget_useless_twins({lease.id for lease in found})

    def forget_useless_twins(self, claimed: set[str]) -> None:
        """A second run of what is ready again goes when a worker meets it, also if it then claims the chunk."""
        for task in self.model.tasks.values():
            for chunk in task.of("pending", "active"):
                was_ready = chunk.state == "pending" or f"{task.id}#{chunk.number}" in claimed
                waits = was_ready and chunk.twin and chunk.twin.state == "pending"
                if waits and not self.desk.chunk(f"{chunk.number}~", task.id):
                    chunk.twin = None

    @rule(
        ends=st.lists(
            st.tuples(picks, st.sampled_from(OUTCOMES), st.sampled_from([-1, NEVER_MS]), st.booleans()), max_size=4
        )
    )
    def end_some(self, ends: list[tuple[int, Outcome, int, bool]]) -> None:
        """Leases end, well or not."""
        for pick, outcome, delay_ms, counted in ends:
            lease = self.lease_at(pick)
            if lease.kind == "mapreduce" and (
                outcome is Outcome.RESTART or (outcome is Outcome.SUCCESS and not lease.phase)
            ):
                continue
            self.settle(lease, outcome, delay_ms, counted)

    def settle(self, lease: Lease, outcome: Outcome, delay_ms: int, counted: bool, value: str = "1") -> None:
        if outcome is not Outcome.ERROR or lease.kind == "mapreduce":
            delay_ms = NEVER_MS
        end = Settlement(lease.id, lease.fence, outcome, value.encode(), delay_ms, counted=counted)
        word = self.desk.exchange("w1", settle=[end]).settled[0]
        assert word == self.model.judge(lease), (lease.id, word)
        if word == "OK":
            self.model.end(lease.id, outcome, delay_ms, counted)
            self.put_off()

    @rule(worker=workers, judged=st.dictionaries(picks, st.sampled_from([Outcome.CRASH, Outcome.ERROR]), max_size=2))
    def recover(self, worker: str, judged: dict[int, Outcome]) -> None:
        """A worker died."""
        good = {lease.id: lease for lease in map(self.lease_at, judged) if self.model.judge(lease) == "OK"}
        ends = dict(zip(good, judged.values(), strict=False))
        delay = {Outcome.CRASH: 0, Outcome.ERROR: -1}  # a crash without a delay counts against the one it hit
        running = {
            key: Settlement(key, good[key].fence, outcome, b"{}", delay[outcome]) for key, outcome in ends.items()
        }
        mine = {key: outcome for key, outcome in ends.items() if self.model.held(key).worker == worker}
        self.desk.broker.recover(POOL, worker, running)
        self.model.take_back(worker, mine)

    @rule(chosen=st.lists(picks, min_size=1, max_size=3))
    def let_time_come(self, chosen: list[int]) -> None:
        """Leases, delays and retentions end, and a watchdog comes by."""
        members = sorted(member.decode() for member in self.desk.client.zrange(self.desk.keys.agenda, 0, -1))
        due = sorted({members[pick % len(members)] for pick in chosen}) if members else []
        for member in due:
            self.desk.make_due(member)
            self.desk.tick()
            self.model.act_on_due([member])
            self.put_off()

    @rule(verb=st.sampled_from(["cancel", "release", "retry", "delete", "restore"]), task_id=task_ids)
    def control(self, verb: str, task_id: str) -> None:
        """An operator's action on a task."""
        assert self.desk.told(verb, task_id, value="enough" if verb == "cancel" else "") == self.model.control(
            verb, task_id
        )

    @rule(verb=st.sampled_from(MENDING), task_id=task_ids, numbers=st.sets(st.integers(0, 7), min_size=1, max_size=4))
    def mend(self, verb: str, task_id: str, numbers: set[int]) -> None:
        """An operator's action on chunks."""
        answer = self.desk.broker.mend_chunks(POOL, task_id, verb, sorted(numbers), value=value_for(verb))
        changed = self.model.mend(task_id, verb, sorted(numbers))
        if task_id in self.model.tasks:
            assert set(answer.refused) == numbers - changed
        assert answer.changed == len(changed)

    @rule(
        verb=st.sampled_from(["retry", "drop", "skip", "redo", "set", "release"]),
        state=st.sampled_from(STATES),
        task_id=task_ids,
    )
    def mend_all(self, verb: str, state: str, task_id: str) -> None:
        """The same on all of a state."""
        if state in CHUNKS.allowing(verb):
            answer = self.desk.broker.mend_all(POOL, task_id, verb, state, value=value_for(verb))
            assert answer.changed == self.model.mend_all(task_id, verb, state)

    @rule(stage=st.sampled_from(["map", "process", "reduce"]), every=st.booleans(), task_id=task_ids)
    def restart(self, stage: str, every: bool, task_id: str) -> None:
        """Begin again at a stage."""
        wanted = ("failed", "errored", "done") if every else ("failed", "errored")
        row = self.desk.broker.restart_from(POOL, task_id, stage, states=wanted)
        assert row.word == self.model.restart(task_id, stage, wanted), row

    @invariant()
    def agree(self) -> None:
        """What is stored is what the model says, and every invariant holds."""
        self.put_off()
        self.desk.check()
        for task_id in IDS:
            task = self.model.tasks.get(task_id)
            assert self.desk.state(task_id) == (task.state if task else "")
            owner = self.model.owner(task_id)
            expected = {n: chunk.state for n, chunk in (owner.chunks or {}).items()} if owner else {}
            assert {n: self.desk.chunk(n, task_id).get("s") for n in expected} == expected
            assert sum(self.desk.counts(task_id)) == len(expected)
            if task is not None:
                assert bool(self.desk.field("ph", task_id)) == task.reduces
                assert int(self.desk.field("xd", task_id) or 0) == task.dropped

    def put_off(self) -> None:
        """What is tried again is never due by itself."""
        self.desk.put_off(*[key for key, held in self.model.everything() if held.state in ("errored", "restart")])

    def finish(self) -> None:
        """Run what is left to its end: each chunk is processed, each task reduces once. The check finds all well."""
        assert checked(self.desk) == set()
        for _ in range(60):
            self.map(3, "w1")
            for lease in [each for each in self.leases if self.model.judge(each) == "OK"]:
                if lease.kind == "chunk" or lease.phase:
                    self.settle(lease, Outcome.SUCCESS, 0, False)
            waiting = [key for key, held in self.model.everything() if held.state in ("errored", "restart")]
            for key in waiting:
                self.desk.make_due(key)
            self.desk.tick()
            self.model.act_on_due(waiting)
            self.agree()
        left = {task.id: task.state for task in self.model.tasks.values()}
        assert not set(left.values()) & {"pending", "aggregating", *LEASED}, left


class FinishedKernel(MapReduceKernel):
    """The same, and at the end everything comes to its end."""

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:
                self.finish()
        finally:
            super().teardown()


def test_chunks_and_a_model_of_them_agree_whatever_happens(redis_url: str, namespace: str) -> None:
    FinishedKernel.url = redis_url
    run_machine(FinishedKernel, examples=60, steps=40)


def test_the_model_awaits_no_second_run_that_went_as_its_chunk_was_claimed(redis_url: str, namespace: str) -> None:
    FinishedKernel.url = redis_url
    machine = FinishedKernel()
    machine.begin(None, 0)
    machine.claim(1, "w1")
    task_id = machine.leases[-1].id[0]
    machine.mend("speculate", task_id, {0})
    machine.mend("release", task_id, {0})
    for _ in range(3):  # the first one meets the second run, and then the chunk
        machine.claim(4, "w1")
    assert not [lease.id for lease in machine.leases if lease.id.endswith("~")]
    machine.teardown()
