"""Read, refuse, write: no function of the library returns a refusal after its first write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from queueops.conf import Settings
from queueops.redis import library, store_client
from queueops.redis.broker import RedisBroker
from queueops.redis.schedule_keys import schedule_key
from tests.composites import test_model as composites
from tests.kernel import test_model as kernel
from tests.kernel.desk import POOL
from tests.mapreduce import test_model as mapreduce
from tests.support.for_each import for_each
from tests.support.machines import run_machine
from tests.support.recorded_writes import REFUSALS, RecordedScripts, words_of

MACHINES = [
    (kernel.Kernel, 24, {"control", "displace", "note"}),
    (composites.Composites, 60, {"control", "plant"}),
    (mapreduce.FinishedKernel, 20, {"control", "restage"}),
]
"""Models whose calls are recorded: how many examples, and the functions that refuse there. All calls are scripts."""
FENCE, RULES, NOW, LATER = "7", "rules", "0", "9" * 12
CALLS = [
    ("advance", ["leased", "0", "1", "", RULES], "STALE"),
    ("grow", ["leased", "0", "token", "group", RULES, "0"], "STALE"),
    ("grow", ["leased", FENCE, "token", "group", RULES, "0"], "NONE"),
    ("advance", ["gone", "0", "1", "", RULES], "GONE"),
    ("emit", ["leased", "0", "token", "idle", RULES, "", "0"], "STALE"),
    ("emit", ["gone", FENCE, "token", "idle", RULES, "", "0"], "GONE"),
    ("aggregation", ["to:nobody", "drain", ""], "NONE"),
    ("aggregation", ["to:shop", "delete", ""], "JOBS"),
    ("enqueue", ["-1", "1", "", "2", "n", "tests.noop", "0", "new", "leased", "0"], "STALE"),
    ("fire", ["gone", "1", "5", "", "allow", "", "me", "0"], "GONE"),
    ("fire", ["hourly", "1", "5", "", "allow", "", "me", "0"], "STALE"),
    ("hold_operation", ["gone", "1", "me"], "GONE"),
    ("hold_operation", ["over", "1", "me"], "REFUSED"),
    ("keep_stack", ["nobody", "text", "1000"], "GONE"),
    ("note", ["gone", "0", "1", "", "", "0"], "GONE"),
    ("operate", ["gone", "0", "cancel", "t", RULES, "", "", "me", "", "1", "1", NOW, "", "", "0"], "STALE"),
    ("operate", ["held", FENCE, "cancel", "t", RULES, "", "", "me", "", "1", "1", NOW, "", "", "0"], "HELD"),
    ("operate", ["stop", FENCE, "cancel", "t", RULES, "", "", "me", "", "1", "1", NOW, "", "", "0"], "STOP"),
    ("pause_name", ["tests.noop", "1", "0"], "FULL"),
    ("redeliver", ["drop", "0", "gone"], "GONE"),
    ("reset_run", ["gone", "1", "new", "t", RULES, "me", ""], "GONE"),
    ("reset_run", ["run", "99", "new", "t", RULES, "me", ""], "REFUSED"),
    ("send_again", ["t", "me", "", "", "failed", RULES, "gone", "", "0"], "GONE"),
    ("schedule", ["pause", "gone", "", "", "me", "", "9"], "GONE"),
    ("schedule", ["put", "hourly", "new", LATER, "me", "other", "9"], "TAKEN"),
    ("schedule", ["put", "hourly", "99", LATER, "me", "other", "9"], "STALE"),
    ("schedule", ["put", "another", "new", LATER, "me", "other", "1"], "FULL"),
    ("start_run", ["instance", "another", "new", "", "", "", "n", "tests.run", "k", "workflow"], "EXISTS"),
    ("submit_jobs", ["", "", "1", "to:full", "x", "", "", "", "0"], "DRAINING"),
    ("tell_run", ["gone", "", "signal", "{}", RULES, "me", "go", "", "t", "", ""], "GONE"),
    ("tell_run", ["ended", "", "cancel", "{}", RULES, "me", "", "", "t", "", ""], "ENDED"),
    ("write_chunks", ["leased", "0", "begin", "0", ""], "STALE"),
    ("write_chunks", ["gone", "0", "begin", "0", ""], "GONE"),
]
"""Calls that are refused in the pool that `refusing` makes: function, arguments, the word."""
OF_EACH = {"command"}
"""Functions whose words are about each of several commands, which the outbox notes in the same call."""


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[RecordedScripts]]:
    """Every broker of the test records what its functions write."""
    monkeypatch.setattr(store_client, "Scripts", RecordedScripts)
    RecordedScripts.refused.clear()
    RecordedScripts.wrong.clear()
    yield RecordedScripts
    RecordedScripts.wrong.clear()


@pytest.mark.parametrize(("machine", "examples", "refusing"), MACHINES, ids=["kernel", "composites", "mapreduce"])
def test_with_scripts_a_model_agrees_and_no_function_refuses_after_a_write(
    recorded: type[RecordedScripts],
    redis_url: str,
    store: Any,
    namespace: str,
    machine: Any,
    examples: int,
    refusing: set[str],
) -> None:
    machine.url, machine.directory = redis_url, str(store.directory)
    run_machine(machine, examples=examples, steps=30)
    assert recorded.wrong == []
    assert refusing <= recorded.refused.keys()


@pytest.fixture
def refusing(recorded: type[RecordedScripts], redis_url: str, namespace: str) -> Iterator[RedisBroker]:
    """A pool whose records are written by hand: what is refused is read in them."""
    broker = RedisBroker(Settings(url=redis_url, namespace=namespace))
    keys, client = broker.keys(POOL), broker.client
    records = {
        "leased": {"s": "locked", "f": FENCE, "k": "mapreduce"},
        "held": {"s": "locked", "f": FENCE, "k": "bulk_action", "jh": 1},
        "stop": {"s": "locked", "f": FENCE, "k": "bulk_action", "x": "enough"},
        "over": {"s": "cancelled", "k": "bulk_action"},
        "ended": {"s": "succeeded", "k": "workflow", "vi": "ended"},
        "run": {"s": "idle", "k": "workflow", "vi": "instance", "u": 1},
    }
    for task_id, fields in records.items():
        client.hset(keys.task(task_id), mapping={"n": "tests.noop", **fields})
    client.hset(keys.instances, "instance", "run")
    client.hset(schedule_key(keys, "hourly"), mapping={"v": 1, "x": "line"})
    client.zadd(keys.schedules, {"hourly": LATER})
    client.hset(keys.lane_conf("to:shop"), "title", "shop")
    client.zadd(keys.lane("to:shop"), {"job": 1})
    client.hset(keys.lane_conf("to:full"), mapping={"title": "full", "drain": 1})
    yield broker
    client.flushall()
    broker.close()


@for_each(("name", "arguments", "word"), CALLS)
def test_a_function_refuses_before_it_writes(
    recorded: type[RecordedScripts], refusing: RedisBroker, name: str, arguments: list[str], word: str
) -> None:
    values = [refusing.rules if value == RULES else value for value in arguments]
    reply = refusing.scripts.send(name, refusing.keys(POOL).prefix, *values)
    assert words_of(name, reply) == {word}
    assert recorded.wrong == []


def test_a_write_before_a_refusal_is_found(
    recorded: type[RecordedScripts], refusing: RedisBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = library.script("note").replace("return 'GONE'", "call('SET', P .. ':seq', 1) return 'GONE'")
    monkeypatch.setattr(library, "script", lambda name: text)
    assert refusing.scripts.send("note", refusing.keys(POOL).prefix, "gone", "0", "1", "", "", "0") == b"GONE"
    (found,) = recorded.wrong
    assert "after ['SET " in found


def test_each_function_that_refuses_is_called() -> None:
    called = {name for name, _, _ in CALLS}.union(*(names for _, _, names in MACHINES))
    refusing = set()
    for name in library.functions():
        head = re.search(r"^-- Reply: (.*?)^-- Transitions", library.functions()[name].text, re.DOTALL | re.MULTILINE)
        assert head
        if {*re.findall(r"\b[A-Z]{4,}\b", head[1])} & REFUSALS:
            refusing.add(name)
    assert refusing - OF_EACH <= called
