"""Random operations and faults on a real server, beside a model in plain Python: they never disagree."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from queueops.conf import Settings
from queueops.model.contracts import Conflict, Extend, Lease, Outcome, Push, Settlement
from queueops.model.states import table
from queueops.redis import embedded, wire
from queueops.redis.broker import RedisBroker
from tests.kernel.desk import NEVER_MS, POOL, Desk
from tests.kernel.model import MAX_CRASHES, TERMINAL, Lane, Model
from tests.support.machines import run_machine
from tests.support.servers import HAS_FUNCTIONS

HANDED = [f"h{n}" for n in range(3)]
IDS, LANES, WORKERS = [f"t{n}" for n in range(5)], ["default", "one", "two"], ["w1", "w2"]
VERBS = sorted({verb for verbs in table().actions.values() for verb in verbs} | {"restore"})

names = st.sampled_from(["tests.one", "tests.two"])
task_ids, lane_names, workers = st.sampled_from(IDS + HANDED), st.sampled_from(LANES), st.sampled_from(WORKERS)
pushes = st.builds(
    Push,
    id=task_ids,
    name=names,
    kind=st.sampled_from(["task", "other"]),
    lane=lane_names,
    priority=st.sampled_from([0, 0, 9, 10, -1]),
    delay_ms=st.sampled_from([None, None, NEVER_MS]),
    retries=st.integers(0, 2),
    tags=st.sampled_from([(), ("red",), ("red", "blue")]),
    conflict=st.sampled_from(Conflict),
)
picks = st.integers(0, 99)
RATE = 0.001
"""A start each thousand seconds: no token comes while a test runs but by `refill`."""
NEVER_GIVEN = 10**9
"""A fence that no test reaches."""
ends = st.tuples(picks, st.sampled_from(Outcome), st.sampled_from([-1, NEVER_MS]), st.booleans())


def end_of(lease: Lease, outcome: Outcome, delay_ms: int, fingerprint: str = "", counted: bool = False) -> Settlement:
    """The end of a lease; what is tried again is never due by itself."""
    delay_ms = delay_ms if outcome in (Outcome.ERROR, Outcome.TIMEOUT) else NEVER_MS
    return Settlement(lease.id, lease.fence, outcome, b"1", delay_ms, fingerprint, counted=counted)


class Kernel(RuleBasedStateMachine):
    """Every call of the broker, in every state, and every fault that a test can make."""

    url = ""
    directory = ""

    def __init__(self) -> None:
        super().__init__()
        config = Settings(url=self.url, namespace="model", lease=1000.0, max_crashes=MAX_CRASHES)
        self.desk = Desk(RedisBroker(config))
        self.desk.client.flushall()
        self.model = Model()
        self.leases: list[Lease] = []
        self.operations = 0

    def teardown(self) -> None:
        """Hang up."""
        self.desk.broker.close()

    def lease_at(self, pick: int) -> Lease:
        """A lease that was given once: mostly a good one, else perhaps a stale one."""
        good = [lease for lease in self.leases if self.model.judge(lease.id, lease.fence) == "OK"]
        among = good if pick % 4 and good else self.leases
        return among[-1 - pick // 4 % len(among)] if among else Lease(id=IDS[pick % len(IDS)], fence=NEVER_GIVEN)

    def action_at(self, pick: int, choice: int) -> tuple[str, str]:
        """A task and a verb: mostly one that its state allows."""
        task_id = (IDS + HANDED)[pick % len(IDS + HANDED)]
        task, broken = self.model.tasks.get(task_id), task_id in self.model.broken
        found = table().actions[task.state] if task else ("discard",) if broken else ("restore",)
        among = found if choice % 4 else VERBS
        return task_id, among[choice // 4 % len(among)]

    # Producing

    @initialize(batch=st.lists(pushes, min_size=6, max_size=6))
    def begin(self, batch: list[Push]) -> None:
        """There is something to do."""
        self.push_many(batch)

    @rule(push=pushes)
    def push_one(self, push: Push) -> None:
        """Push a task."""
        self.push_many([push])

    @rule(batch=st.lists(pushes, min_size=2, max_size=6))
    def push_many(self, batch: list[Push]) -> None:
        """Push several. An id without a record is left alone until it was found out (see `create` in the model)."""
        lost = [key for key, task in self.model.broken.items() if task.state != "quarantined"]
        batch = [push for push in batch if push.id not in lost or push.id in self.model.garbage]
        waiting = self.desk.client.zrange(self.desk.keys.idle, -1, -1)
        known = len(batch) == 1 and not self.is_unable(waiting, batch[0].name)
        may = known and self.model.may_be_handed(batch[0])
        answers = self.desk.broker.push(batch)
        expected = self.model.push(batch)
        assert [answer.word for answer in answers] == expected, f"{answers}, expected {expected}"
        for worker in waiting:
            self.take_token(worker.decode(), may)

    def is_unable(self, waiting: list[bytes], name: str) -> bool:
        """Whether the worker that waits has said that it does not know this name."""
        keys = [f"{self.desk.keys.prefix}:unable:{worker.decode()}" for worker in waiting]
        return any(self.desk.client.sismember(key, name) for key in keys)

    def take_token(self, worker: str, may: bool) -> None:
        """What the push woke a worker with. Where a record was lost, something else may be ready."""
        key = self.desk.keys.wake(worker)
        tokens = [wire.read_token(POOL, token) for token in self.desk.client.lrange(key, 0, -1)]
        self.desk.client.delete(key)
        handed = [token for token in tokens if isinstance(token, Lease)]
        broken = self.model.broken
        unsure = broken or self.model.paused  # a lane may have a task of a paused name that no claim has met
        assert len(handed) == may or (may and unsure and not handed), (tokens, may, broken)
        for lease in handed:
            self.model.hand(lease, worker)
        self.desk.hold(*[lease.id for lease in handed])
        self.leases += handed

    @rule(worker=workers, push=pushes, plain=st.integers(0, 3))
    def push_to_one_who_waits(self, worker: str, push: Push, plain: int) -> None:
        """A worker takes all there is, waits for more, and one more task is pushed."""
        for _ in range(3):
            self.exchange(worker, 4, False, [], [])
        self.exchange(worker, 1, True, [], [])
        self.agree()
        push.id = next((key for key in HANDED if key not in self.model.tasks | self.model.broken), push.id)
        if plain:
            push.kind, push.tags, push.delay_ms = "task", (), None
        self.push_many([push])

    # Working

    @rule(
        worker=workers,
        want=st.integers(0, 4),
        idle=st.booleans(),
        settled=st.lists(ends, max_size=3),
        extended=st.lists(picks, max_size=2),
    )
    def exchange(
        self, worker: str, want: int, idle: bool, settled: list[tuple[int, Outcome, int, bool]], extended: list[int]
    ) -> None:
        """Settle, extend, promote and claim, with good and stale leases, in one round trip."""
        settlements = []
        for pick, outcome, delay_ms, counted in settled:
            settlements.append(end_of(self.lease_at(pick), outcome, delay_ms, "f" * (pick % 3), counted))
        extensions = [Extend(self.lease_at(pick).id, self.lease_at(pick).fence) for pick in extended]
        found = self.desk.exchange(worker, settle=settlements, extend=extensions, want=want, idle=idle)
        words = [self.model.settle(s.id, s.fence, s.outcome, s.delay_ms, s.counted) for s in settlements]
        assert found.settled == words, (settlements, found.settled, words)
        self.check_extensions(extensions, found.lost, found.cancels)
        self.model.act_on_due(max(16, want))
        self.model.claim(found.leases, want, worker)
        self.leases += found.leases
        self.notice_quarantined()
        self.desk.put_off(*self.model.newly_delayed())  # at once: on a slow machine the pause may be over soon

    @rule(worker=workers, want=st.integers(2, 4), settled=st.lists(ends, min_size=1, max_size=4))
    def work(self, worker: str, want: int, settled: list[tuple[int, Outcome, int, bool]]) -> None:
        """Claim some, and settle some of what is held."""
        self.exchange(worker, want, False, [], [])
        self.agree()
        self.exchange(worker, 0, True, [(pick * 4 + 1, *rest) for pick, *rest in settled], [])

    @rule(worker=workers, pick=picks)
    def settle_alone(self, worker: str, pick: int) -> None:
        """A worker takes all there is, and then settles one task, while it has nothing else to do."""
        for _ in range(3):
            self.exchange(worker, 4, False, [], [])
        self.agree()
        self.exchange(worker, 4, True, [(pick, Outcome.SUCCESS, 0, False)], [])

    @rule(worker=workers, pick=picks)
    def settle_and_go_on(self, worker: str, pick: int) -> None:
        """A worker settles one task and asks for the next one."""
        self.exchange(worker, 1, True, [(pick, Outcome.SUCCESS, 0, False)], [])

    def check_extensions(self, extensions: list[Extend], lost: list[str], cancels: list[tuple[str, str]]) -> None:
        """What is held is kept, what is not is told."""
        held = [each.id for each in extensions if self.model.judge(each.id, each.fence) == "OK"]
        self.model.due -= set(held)
        for key in held:
            self.model.tasks[key].handed = False
        assert lost == [e.id for e in extensions if self.model.judge(e.id, e.fence) != "OK"]
        assert cancels == [(key, self.model.tasks[key].cancel) for key in held if self.model.tasks[key].cancel]

    @rule(pick=picks)
    def note(self, pick: int) -> None:
        """Progress and a log line under a lease."""
        lease = self.lease_at(pick)
        word = self.desk.broker.note(POOL, lease.id, lease.fence, done=1, line=b"half")
        expected = self.model.judge(lease.id, lease.fence)
        assert word == ("STALE" if expected == "REPEAT" else expected)

    @rule(worker=workers, judged=st.dictionaries(picks, st.sampled_from([*Outcome, None]), max_size=3))
    def recover(self, worker: str, judged: dict[int, Outcome | None]) -> None:
        """A worker died; its supervisor judges some of its leases, keeps some, and gives the others back."""
        running, keep = {}, []
        for pick, outcome in judged.items():
            lease = self.lease_at(pick)
            running.pop(lease.id, None)
            keep = [each for each in keep if each[0] != lease.id]
            if outcome is None:
                keep.append((lease.id, lease.fence))
            else:
                running[lease.id] = end_of(lease, outcome, -1)
        expected = 0
        for task_id in [member.decode() for member in self.desk.client.zrange(self.desk.keys.state("locked"), 0, -1)]:
            task = self.model.tasks.get(task_id)
            if task is None or task.worker != worker or (task_id, task.fence) in keep:
                continue
            end = running.get(task_id)
            self.model.take_back(task, end.outcome if end and end.fence == task.fence else None)
            expected += 1
        assert self.desk.broker.recover(POOL, worker, running, keep) == expected

    @rule(limit=st.sampled_from([1, 2, 500]), times=st.integers(1, 2))
    def tick(self, limit: int, times: int) -> None:
        """A watchdog's round, or two."""
        for _ in range(times):
            self.desk.tick(limit)
            self.model.act_on_due(limit)

    @rule(chosen=st.sets(task_ids, min_size=1, max_size=4), trash=st.booleans())
    def let_time_come(self, chosen: set[str], trash: bool) -> None:
        """Leases, delays and retentions end."""
        self.desk.make_due(*chosen)
        model = self.model
        for key in chosen & model.tasks.keys():
            if (task := model.tasks[key]).is_due_later:
                self.desk.client.hset(self.desk.keys.task(key), "d", 1)
                task.is_due_later = False
        parked = ("pending", "quarantined")
        model.due |= {key for key in chosen & model.tasks.keys() if model.tasks[key].state not in parked}
        model.due |= {key for key in chosen & model.broken.keys() if model.broken[key].state not in parked}
        if trash and model.trash:
            entries = [f"~trash:{key}" for key in model.trash]
            self.desk.make_due(*entries)
            model.due |= set(entries)

    # Controlling

    @rule(
        lane=lane_names,
        number=st.sampled_from([9, 10, 0]),
        actions=st.lists(st.tuples(picks, picks, picks), min_size=1, max_size=5),
    )
    def control_some(self, lane: str, number: int, actions: list[tuple[int, int, int]]) -> None:
        """What an operator does in a row, in whatever state the tasks are."""
        for pick, choice, twice in actions:
            task_id, verb = self.action_at(pick, choice)
            self.control(verb, task_id, lane, number, twice)
            self.agree()

    def control(self, verb: str, task_id: str, lane: str, number: int, twice: int) -> None:
        """One action; now and then its reply is lost and it is repeated."""
        if verb == "restore" and task_id in self.model.broken:
            return  # its lost record is not found out yet, as in `push_many`
        values = {
            "postpone": self.desk.now() + NEVER_MS,
            "cancel": "enough",
            "edit": "[[1],{}]",
            "priority": number,
            "move": lane,
        }
        value = values.get(verb, 10**9 if verb == "keep" else "")
        self.operations += 1
        token = f"operation-{self.operations}" if twice % 4 == 0 else ""
        expected = self.model.control(verb, task_id, value)
        row = self.desk.control(verb, task_id, value=value, token=token)[0]
        assert row.word == expected, row
        if token and expected == "OK" and task_id in self.model.tasks:
            assert self.desk.told(verb, task_id, value=value, token=token) in ("REPEAT", "GONE")

    @rule(
        lane=lane_names,
        limit=st.sampled_from([None, 1, 2, 3]),
        rate=st.sampled_from([None, None, RATE]),
        paused=st.sampled_from([None, None, 1]),
    )
    def set_lane(self, lane: str, limit: int | None, rate: float | None, paused: int | None) -> None:
        """Limit, pause or resume a lane, and rate its starts."""
        self.desk.broker.lane(POOL, lane, limit=limit, rate=rate, paused=paused)
        self.model.set_lane(lane, limit, paused == 1, rate is not None)

    @rule(name=names, resumed=st.booleans())
    def pause_name(self, name: str, resumed: bool) -> None:
        """Pause all tasks of a name, or resume them."""
        assert self.desk.broker.pause_name(POOL, name, paused=not resumed) == (name in self.model.paused)
        self.model.paused -= {name}
        if not resumed:
            self.model.paused.add(name)

    @rule(lane=lane_names)
    def refill(self, lane: str) -> None:
        """The time of a lane's next token comes."""
        if self.model.lanes.get(lane, Lane()).tokens == 0:
            self.desk.client.hset(self.desk.keys.lane_conf(lane), "tat", 1)
            self.desk.client.zadd(self.desk.keys.agenda, {f"~lane:{lane}": 1})
            self.model.due.add(f"~lane:{lane}")
            self.desk.tick()
            self.model.act_on_due(500)

    # Faults

    @rule(task_id=task_ids, garbage=st.booleans(), sure=st.integers(0, 2))
    def destroy_a_record(self, task_id: str, garbage: bool, sure: int) -> None:
        """A record vanishes, or is overwritten."""
        if sure or task_id not in self.model.tasks:
            return
        key = self.desk.keys.task(task_id)
        self.desk.client.set(key, b"\xff\x00garbage") if garbage else self.desk.client.delete(key)
        self.model.destroy(task_id, garbage=garbage)
        self.desk.haunted.add(task_id)

    @rule()
    def forget_the_functions(self) -> None:
        """FUNCTION FLUSH, SCRIPT FLUSH."""
        if HAS_FUNCTIONS:
            self.desk.client.function_flush()
        self.desk.client.script_flush()

    @precondition(lambda self: self.model.tasks)
    @rule(luck=st.integers(0, 30))
    def restart_the_server(self, luck: int) -> None:
        """Stop the server and start it again with its append-only file: seldom, for it takes a while."""
        if luck == 17:
            embedded.stop(self.directory)
            embedded.start(self.directory, options={"appendfsync": "no"})
            self.desk.client.connection_pool.disconnect()
            self.desk.broker.pools()
            self.desk.tick()
            self.model.act_on_due(500)

    # Agreement

    def notice_quarantined(self) -> None:
        """A claim may or may not have come across a ready task without a record: look."""
        for task_id, task in self.model.broken.items():
            if task.state == "pending" and self.desk.client.zscore(self.desk.keys.state("quarantined"), task_id):
                task.state = "quarantined"

    @invariant()
    def agree(self) -> None:
        """What is stored is what the model says, and every invariant holds."""
        model, desk = self.model, self.desk
        desk.put_off(*model.newly_delayed())
        desk.broken = set(model.broken)
        desk.lowered = {lane for lane, conf in model.lanes.items() if conf.limit and model.active(lane) > conf.limit}
        picture = desk.check()
        for task_id, row in picture.records().items():
            task = model.tasks[task_id]
            found = row["s"], row.get("l", "default"), int(row.get("p", 0)), int(row.get("cr", 0)), row["n"]
            assert found == (task.state, task.lane, task.priority, task.crashes, task.push.name), (task_id, row, task)
            if task.state not in TERMINAL:
                assert (int(row.get("at", 0)), row.get("x", "")) == (task.attempts, task.cancel), (task_id, row)
        assert picture.records().keys() == model.tasks.keys()
        assert set(picture.under("trash:")) == model.trash.keys()
        for task_id, task in model.broken.items():
            assert task_id in picture.scores(f"state:{task.state}")


def test_the_kernel_and_a_model_of_it_agree_whatever_happens(redis_url: str, store: Any, namespace: str) -> None:
    Kernel.url, Kernel.directory = redis_url, str(store.directory)
    run_machine(Kernel, examples=60, steps=40)
