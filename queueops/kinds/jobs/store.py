"""Store of jobs: creates jobs with the limits of their lanes, and reads these lanes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple

from queueops import conf
from queueops.errors import IdInUse
from queueops.errors.jobs import AggregationDrains, FingerprintDiffers
from queueops.kinds.jobs.file_calls import FileCalls
from queueops.model import observers
from queueops.model.contracts import LeaseRef, Push, Pushed, Row
from queueops.model.ids import new_id
from queueops.model.states import states_allowing
from queueops.redis import pushwire
from queueops.redis.fencing import Fencing
from queueops.redis.pushwire import Argument
from queueops.redis.query_replies import text, whole

JOB = "job"
"""The kind of the record."""
ALL_OR_NONE = 1000
"""Jobs that one call creates: all of them, or none."""
REMEMBERED_MS = 86_400_000
"""So long the store knows the last batch of counts of a process."""
PROXY_S, MOST_PROXIES = 1.0, 10_000
"""So long a process uses the proxy of an aggregation that it has read, and of how many aggregations."""


class LaneOfJobs(NamedTuple):
    """A lane of jobs or callbacks: its name, what it stands for, and the settings that its first push gives it.

    ``settings`` are names and values, as `first_settings` makes them. A destination is a lane of callbacks.
    """

    lane: str
    id: str
    settings: str
    proxy: str = ""
    is_destination: bool = False


class NewJob(NamedTuple):
    """A job to be created, and the lanes that it needs: its own, and those of its callbacks."""

    push: Push
    lanes: tuple[LaneOfJobs, ...]


class StoredCallback(NamedTuple):
    """What the record of a callback holds: its arguments, the end of its job, and its result. Empty: nothing."""

    args: bytes = b""
    previous: bytes = b""
    result: bytes = b""


class SentAgain(NamedTuple):
    """A callback that is sent again: its new arguments (empty: the same), and when, in ms from now."""

    id: str
    arguments: bytes = b""
    wait_ms: int = 0


class JobCalls(FileCalls, Fencing):
    """The role of jobs in the broker."""

    def submit_jobs(self, pool: str, jobs: Sequence[NewJob], *, under: LeaseRef | None = None) -> list[Pushed]:
        """Create jobs of one pool: all or none of a thousand. More of them are created in batches of so many.

        A call without a reply is repeated, and creates nothing twice.
        Raises AggregationDrains, FingerprintDiffers, IdInUse, LeaseLost, BrokerUnavailable and StoreFull.
        """
        found: list[Pushed] = []
        self.announce(pool)
        for start in range(0, len(jobs), ALL_OR_NONE):
            batch = jobs[start : start + ALL_OR_NONE]
            lanes = {lane.lane: lane for job in batch for lane in reversed(job.lanes)}
            self.lane_patterns.prepare(pool, lanes)
            with observers.publishing((job.push for job in batch), linked=len(batch) > 1):
                given = _arguments(batch, list(lanes.values()))

                def submit(proof: Sequence[Argument], given: Sequence[Argument] = given) -> Any:
                    return self._call("submit_jobs", pool, *proof, *given)

                reply = submit(("", "")) if under is None else self._fenced(pool, under, submit)
            if reply[0] == b"DRAINING":
                raise AggregationDrains(id=lanes[text(reply[1])].id, pool=pool)
            if reply[0] == b"DIFFERS":
                raise FingerprintDiffers(id=text(reply[1]))
            if reply[0] == b"UNREADABLE":
                raise IdInUse(id=text(reply[1]), state="unreadable")
            words = zip(reply[::2], reply[1::2], batch, strict=True)
            found += [Pushed(job.push.id, int(uid), word.decode()) for word, uid, job in words]
        return found

    def maintenance(self) -> dict[str, str]:
        """What is noted of the maintenance that is on; empty if it is off."""
        found = self.ask_key(_maintenance_key(self.settings.namespace), lambda client, key: client.hgetall(key))
        return {text(name): text(value) for name, value in found.items()}

    def start_maintenance(self, who: str, reason: str) -> bool:
        """Note that the maintenance is on. Returns whether it was off; else the first note stays."""

        def write(client: Any, key: str) -> bool:
            seconds, micros = client.time()
            if not client.hsetnx(key, "since", seconds * 1000 + micros // 1000):
                return False
            client.hset(key, mapping={"who": who, "reason": reason})
            return True

        return bool(self.ask_key(_maintenance_key(self.settings.namespace), write))

    def stop_maintenance(self) -> bool:
        """End the maintenance. Returns whether it was on."""
        return bool(self.ask_key(_maintenance_key(self.settings.namespace), lambda client, key: client.delete(key)))

    def take_request(self, pool: str, token: int, rate: float) -> int:
        """Count a request of an API token with a limit. Returns 0, or the ms until the next one is permitted."""
        self.announce(pool)
        return int(self._call("api_rate", pool, token, rate))

    def send_again(
        self, pool: str, sent: Sequence[SentAgain], lane: LaneOfJobs | None = None, *, who: str = "", token: str = ""
    ) -> list[Row]:
        """Send callbacks of a pool again, in another lane if one is given; an answer for each, in their order.

        That lane gets its settings in the same call, as by the first push to it.

        A callback in back-off and one that is scheduled start then, too. What is not a callback is refused.
        """
        allowed = ",".join(states_allowing("retry"))
        if (ring := conf.keyring()) is not None:
            sent = [each._replace(arguments=ring.seal(each.arguments)) for each in sent]
        flat = [part for each in sent for part in each]
        name, settings = ("", "") if lane is None else (lane.lane, lane.settings)
        self.lane_patterns.prepare(pool, [name] if name else [])
        how = (token or new_id(), who[:100], name, settings, allowed, self.rules)
        reply = self._call("send_again", pool, *how, *flat)
        texts = iter(text(part) for part in reply)
        return [Row(each.id, *row) for each, row in zip(sent, zip(texts, texts, texts, strict=True), strict=True)]

    def aggregation(self, pool: str, lane: str, verb: str, value: str = "") -> tuple[str, int]:
        """Drain an aggregation, accept jobs again, set its proxy, or delete it if it is empty.

        Returns the word (OK, NONE: there is no such aggregation, JOBS: it has jobs) and the number of its jobs.
        """
        word, count = self._call("aggregation", pool, lane, verb, value)
        _proxies.clear()
        return text(word), int(count)

    def proxy(self, pool: str, lane: str) -> str | None:
        """The proxy of an aggregation: an empty text means none, also for the jobs that bring one.

        None means that there is no such aggregation: its jobs use their own. The answer may be a second old.
        """
        known = _proxies.get((self.keys(pool).prefix, lane))
        if known is not None and monotonic() < known[0]:
            return known[1]
        key = self.keys(pool).lane_conf(lane)
        found = self.ask_one(pool, lambda client: client.hmget(key, "title", "proxy")) or (None, None)
        proxy = None if found[0] is None else text(found[1] or b"")
        if len(_proxies) >= MOST_PROXIES:
            _proxies.clear()
        _proxies[self.keys(pool).prefix, lane] = monotonic() + PROXY_S, proxy
        return proxy

    def ask_circuit(self, pool: str, address: str, id: str, attempt_ms: int) -> tuple[int, bool]:
        """The ms until a callback may be sent to its address, and whether failures of the address are noted."""
        wait, noted = self._call("circuit", pool, "ask", address, "", id, attempt_ms)
        return int(wait), bool(noted)

    def address_failed(self, pool: str, address: str, lane: str, failures: int, wait_ms: int, longest_ms: int) -> None:
        """Note that an address has failed. After `failures` in a row its circuit is open for `wait_ms`."""
        self._call("circuit", pool, "failure", address, lane, failures, wait_ms, max(wait_ms, longest_ms))

    def close_circuits(self, pool: str, address: str = "", lane: str = "") -> int:
        """Close the circuit of an address, or those of a lane, and start what waits. Returns how many were open."""
        count, waits = self._call("circuit", pool, "close", address, lane)
        while waits:  # a call starts some hundreds of them
            _, waits = self._call("circuit", pool, "close", address, lane)
        return int(count)

    def kept(self, pool: str, ids: Sequence[str]) -> set[str]:
        """Which of these ids have a record, or one in the trash. A key of a wrong type counts as a record."""
        keys = self.keys(pool)

        def fill(pipe: Any) -> None:
            for id in ids:
                pipe.exists(keys.task(id), keys.trash(id))

        return {id for id, there in zip(ids, self.ask_all(pool, fill), strict=True) if there != 0}

    def note_full_disk(self, pool: str, host: str, facts: str) -> None:
        """Note that the storage of a machine has no space. Notes that no machine renews for an hour are deleted."""
        key = self.keys(pool).full_disks

        def fill(pipe: Any) -> None:
            pipe.hset(key, host, facts)
            pipe.expire(key, 3600)

        self.ask_all(pool, fill)

    def forget_full_disk(self, pool: str, host: str) -> None:
        """Note that the storage of a machine has space again."""
        self.ask_one(pool, lambda client: client.hdel(self.keys(pool).full_disks, host))

    def full_disks(self, pools: Iterable[str]) -> dict[str, str]:
        """The machines whose storage has no space, with what was noted last in any of the pools."""

        def read(names: list[str]) -> dict[str, Any]:
            def fill(pipe: Any) -> None:
                for name in names:
                    pipe.hgetall(self.keys(name).full_disks)

            return dict(zip(names, self.ask_all(names[0], fill), strict=True))

        found: dict[str, str] = {}
        for rows in self.fan_out.pools(pools, read)[0].values():
            for host, facts in (rows or {}).items():
                found[text(host)] = max(found.get(text(host), ""), text(facts))  # the time comes first
        return found

    def add_counts(self, pool: str, process: str, batch: int, counts: Mapping[str, int]) -> bool:
        """Add to the counters of a pool, in one attempt. Returns whether the batch of the process was not there yet.

        A process counts its batches from 1. The store remembers the last one for a day.
        """
        flat = [part for pair in counts.items() for part in pair]
        arguments = (process, batch, REMEMBERED_MS, *flat)
        self.announce(pool)
        return bool(self.once(pool, self.scripts.send, "count_jobs", self.keys(pool).prefix, *arguments))

    def counts(self, pool: str) -> dict[str, int]:
        """The counters of a pool, by name."""
        found = self.ask_one(pool, lambda client: client.hgetall(self.keys(pool).job_counts))
        return {text(name): whole(text(number)) for name, number in (found or {}).items()}

    def callbacks(self, ids: Sequence[tuple[str, str]]) -> dict[tuple[str, str], StoredCallback]:
        """What the records of callbacks hold, by pool and id; of one that is gone: nothing."""
        rows = self._values(ids, "a", "pv", "re")
        return {place: StoredCallback(*values) for place, values in rows.items()}

    def outcome(self, pool: str, id: str) -> tuple[bytes, bytes, bytes]:
        """The result of a job, its last error, and the time at which its file was deleted. Empty: nothing."""
        result, error, deleted = self._values([(pool, id)], "re", "er", "fx")[pool, id]
        return result, error, deleted

    def arguments(self, ids: Sequence[tuple[str, str]]) -> dict[tuple[str, str], bytes]:
        """The encoded arguments of records, by pool and id; empty for one that is gone."""
        return {place: values[0] for place, values in self._values(ids, "a").items()}

    def _values(self, ids: Sequence[tuple[str, str]], *fields: str) -> dict[tuple[str, str], list[bytes]]:
        """Fields of records, by pool and id; empty where there is nothing."""
        found = self.ask_records(ids, lambda pipe, keys, id: pipe.hmget(keys.task(id), *fields))
        return {place: [value or b"" for value in row or (None,) * len(fields)] for place, (row,) in found.items()}

    def kinds_and_states(self, pool: str, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """The kind and the state of each record; empty texts for one that is gone."""
        keys = self.keys(pool)

        def fill(pipe: Any) -> None:
            for id in ids:
                pipe.hmget(keys.task(id), "k", "s")

        rows = self.ask_all(pool, fill)
        return {
            id: (text(row[0]) or "task" if row and row[1] else "", text(row[1]) if row else "")
            for id, row in zip(ids, rows, strict=True)
        }


def _maintenance_key(namespace: str) -> str:
    """The maintenance switch of a namespace. It is outside the keys of pools, because a flush of a pool leaves it."""
    return f"{{{namespace}}}:maintenance"


def _arguments(jobs: Sequence[NewJob], lanes: Sequence[LaneOfJobs]) -> list[Argument]:
    arguments: list[Argument] = [len(lanes)]
    for lane in lanes:
        first = lane.settings if lane.is_destination else ""
        arguments += (lane.lane, lane.id, lane.settings, lane.proxy, first)
    arguments.append(len(jobs))
    for push, _ in jobs:
        fields = pushwire.record_fields(push)
        arguments += (push.id, push.token, pushwire.due_argument(push), len(fields), *fields)
    return arguments


_proxies: dict[tuple[str, str], tuple[float, str | None]] = {}
"""Proxies of aggregations that this process has read, and until when they are used."""
