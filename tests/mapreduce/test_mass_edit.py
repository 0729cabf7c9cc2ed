"""The data of many chunks is changed at once: all of it, or some of its fields."""

from __future__ import annotations

import json
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from queueops import control
from queueops.errors import BadOption, BrokerUnavailable, NotEncodable, PayloadTooLarge
from queueops.kinds.mapreduce.store.chunk_keys import chunk_set
from queueops.model.contracts import Outcome
from queueops.redis.broker import RedisBroker
from queueops.tasks.encoding import encode_result
from tests.kernel.desk import POOL, end
from tests.mapreduce.bench import ChunkDesk

LATER = 10**7


def stuck(desk: ChunkDesk, data: list[Any], *, errored: int = 0, xr: int = 2) -> None:
    """All chunks have failed, but for the first ones, which back off; the task gathers, or has failed over them."""
    desk.push_mapped(chunks=[encode_result("t", each) for each in data], drop=str(len(data) - 1), xr=xr)
    for start in range(0, len(data), 400):
        leases = [lease for lease in desk.claim(400) if lease.kind == "chunk"]
        ends = [
            end(lease, Outcome.ERROR, b"{}", delay_ms=LATER if start + place < errored else -1)
            for place, lease in enumerate(leases)
        ]
        for first in range(0, len(ends), 200):
            desk.exchange(settle=ends[first : first + 200])


def data_of(desk: ChunkDesk, *numbers: int) -> list[Any]:
    return [json.loads(desk.chunk(number)["a"]) for number in numbers]


def test_fields_are_set_in_the_data_of_all_failed_chunks_and_they_run_again(desk: ChunkDesk) -> None:
    stuck(desk, [{"host": "a", "page": page} for page in range(3)])
    answer = control.set_fields("m", {"host": "b", "tries": []}, state="failed", who="anna")
    assert (answer.changed, answer.left, answer.unfit, answer.state) == (3, 0, 0, "aggregating")
    assert data_of(desk, 0, 1, 2) == [{"host": "b", "page": page, "tries": []} for page in range(3)]
    leases = desk.claim(9)
    assert [(lease.attempt, json.loads(lease.args)["host"]) for lease in leases] == [(1, "b")] * 3
    desk.end_all(leases)
    desk.reduce()
    assert json.loads(desk.client.lrange(desk.keys.log("m#0"), 0, -1)[-1])["was"] == '{"host":"a","page":0}'


def test_all_errored_chunks_get_the_same_data(desk: ChunkDesk) -> None:
    stuck(desk, [1, {"a": 2}, "three", 4], errored=2)
    answer = control.edit_chunks("m", [0], state="errored")
    assert (answer.changed, desk.counts()) == (2, (2, 0, 0, 0, 2))
    assert data_of(desk, 0, 1, 2) == [[0], [0], "three"]
    assert desk.client.exists(chunk_set(desk.keys, "m", "edits")) == 0


def test_data_without_fields_is_left_as_it_is_and_counted(desk: ChunkDesk) -> None:
    stuck(desk, [{"a": 1}, [{"a": 1}], "a", None, {}, 5], errored=3)
    answer = control.set_fields("m", {"a": 2}, state="failed")
    assert (answer.changed, answer.unfit, answer.left, desk.counts()) == (1, 2, 0, (1, 0, 3, 0, 2))
    answer = control.set_fields("m", {"a": 2}, state="errored")
    assert (answer.changed, answer.unfit, answer.left, desk.counts()) == (1, 2, 0, (4, 0, 0, 0, 2))
    assert data_of(desk, 0, 1, 2, 4, 5) == [{"a": 2}, [{"a": 1}], "a", {"a": 2}, 5]
    assert b"2 chunks keep their data" in b"".join(desk.client.lrange(desk.keys.log("m"), 0, -1))
    assert control.set_fields("m", {"a": 3}, state="failed").unfit == 2  # they can still be met


def test_chunks_are_changed_by_number_too_and_those_without_fields_are_refused(desk: ChunkDesk) -> None:
    stuck(desk, [{"a": 1}, "text", {"a": 1}, {"a": 1}])
    answer = control.set_fields("m", {"a": 2}, [0, 1, 2, 9])
    assert (answer.changed, answer.refused) == (2, {1: "failed", 9: ""})
    assert dict(control.reasons("set", answer))[1] == "the data of chunk 1 has no fields, or would be too long"
    assert data_of(desk, 0, 1, 2, 3) == [{"a": 2}, "text", {"a": 2}, {"a": 1}]
    assert control.edit_chunks("m", 7, [3]).changed == 1
    assert data_of(desk, 3) == [7]


def test_data_that_would_be_too_long_is_left_as_it_is(desk: ChunkDesk) -> None:
    stuck(desk, [{"a": "x" * 700_000}, {"a": 1}])
    answer = control.set_fields("m", {"b": "y" * 500_000}, state="failed")
    assert (answer.changed, answer.unfit) == (1, 1)


def test_a_mass_edit_goes_on_by_itself_and_nobody_claims_until_it_is_through(desk: ChunkDesk) -> None:
    stuck(desk, [{"a": number} for number in range(1300)], errored=700)
    value = b"1000000:" + encode_result("t", {"b": 1})
    answer = desk.broker.mend_chunks(POOL, "m", "set", whole="failed", value=value, who="anna")
    assert 0 < answer.changed < 600
    assert (answer.changed + answer.left, desk.claim(5)) == (600, [])
    desk.broker.mend_chunks(POOL, "m", "redo", whole="errored", value=b"7")  # with data of its own
    for _ in range(40):
        desk.make_due("~redo:m")
        desk.tick()
    assert (desk.counts(), desk.field("rd")) == ((1300, 0, 0, 0, 0), "")
    assert data_of(desk, 0, 699, 700, 1299) == [7, 7, {"a": 700, "b": 1}, {"a": 1299, "b": 1}]
    assert desk.client.exists(chunk_set(desk.keys, "m", "edits")) == 0
    assert len(desk.claim(5)) == 5


def test_long_data_is_changed_in_shorter_steps(desk: ChunkDesk) -> None:
    stuck(desk, [{"a": "x" * 40_000, "n": number} for number in range(20)])
    answer = desk.broker.mend_chunks(POOL, "m", "set", whole="failed", value=b'1000000:{"n":0}')
    assert 0 < answer.changed < 10
    desk.broker.mend_all(POOL, "m", "set", "failed", value=b'1000000:{"n":0}')
    assert desk.counts()[0] == 20


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of each call that mends chunks by number: how many there were."""
    found: list[int] = []
    call = RedisBroker._call

    def spy(self: RedisBroker, script: str, pool: str, *arguments: Any) -> Any:
        if script == "chunks":
            found.append(len(arguments) - 7)
        return call(self, script, pool, *arguments)

    monkeypatch.setattr(RedisBroker, "_call", spy)
    return found


def told(desk: ChunkDesk) -> list[tuple[str, int]]:
    """What the task's log says of its operators: what they did, and to how many chunks."""
    lines = [json.loads(line) for line in desk.client.lrange(desk.keys.log("m"), 0, -1)]
    return [(line["verb"], line["value"]) for line in lines if line["k"] == "operator"]


def test_chunks_by_number_are_changed_in_short_calls_however_long_they_are(desk: ChunkDesk, calls: list[int]) -> None:
    stuck(desk, [{"a": "x" * (200_000 if number < 3 else 10), "n": number} for number in range(60)])
    assert control.set_fields("m", {"n": 0}, range(60)).changed == 60
    assert (calls[:3], sum(calls), max(calls)) == ([1, 1, 1], 60, 25)
    assert data_of(desk, 0, 59) == [{"a": "x" * 200_000, "n": 0}, {"a": "x" * 10, "n": 0}]
    del calls[:]
    desk.told("cancel", "m")
    assert control.edit_chunk("m", 7, "y" * 300_000).changed == 1
    assert calls == [1]


def test_long_data_is_written_to_few_chunks_in_a_call(desk: ChunkDesk, calls: list[int]) -> None:
    stuck(desk, [{"n": number} for number in range(9)])
    assert control.edit_chunks("m", "y" * 45_000, range(9)).changed == 9
    assert calls == [2, 2, 2, 2, 1]


def test_what_takes_several_calls_is_one_line_of_the_log(desk: ChunkDesk, calls: list[int]) -> None:
    stuck(desk, [{"n": number} for number in range(450)])
    answer = control.drop_chunks("m", [*range(250), 999], who="anna")
    assert (answer.changed, answer.refused, calls) == (250, {999: ""}, [100, 100, 51])
    assert control.skip_chunks("m", range(250, 255)).changed == 5
    assert control.set_fields("m", {"n": 0}, range(255, 305)).changed == 50
    assert control.set_fields("m", {"n": 0}, state="failed").changed == 145 + 250
    assert told(desk) == [("drop chunks", 250), ("skip chunks", 5), ("set chunks", 50), ("set chunks", 395)]


def test_between_two_calls_of_one_action_nobody_gets_a_chunk_and_the_task_stays(
    desk: ChunkDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck(desk, [{"n": number} for number in range(250)])
    seen, call = [], RedisBroker._call

    def spy(self: RedisBroker, script: str, pool: str, *arguments: Any) -> Any:
        if script == "chunks":
            seen.append((desk.state("m"), desk.claim(5)))
            desk.check()
        return call(self, script, pool, *arguments)

    monkeypatch.setattr(RedisBroker, "_call", spy)
    assert control.drop_chunks("m", range(250)).changed == 250
    assert seen == [("failed", []), ("aggregating", []), ("aggregating", [])]
    assert (desk.state("m"), desk.field("rd"), desk.field("xd")) == ("pending", "", "250")
    monkeypatch.undo()
    assert control.retry_chunks("m", range(150)).changed == 150
    assert (desk.counts(), len(desk.claim(5))) == ((150, 0, 0, 0, 100), 5)
    desk.check()


def test_the_task_goes_on_when_the_rest_of_an_action_never_comes(
    desk: ChunkDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck(desk, [{"n": number} for number in range(250)])
    call, made = RedisBroker._call, []

    def breaks_off(self: RedisBroker, script: str, pool: str, *arguments: Any) -> Any:
        made.append(script)
        if script == "chunks" and made.count("chunks") == 2:
            raise BrokerUnavailable(url="redis://away", attempts=1, reason="it is")
        return call(self, script, pool, *arguments)

    monkeypatch.setattr(RedisBroker, "_call", breaks_off)
    with pytest.raises(BrokerUnavailable):
        control.retry_chunks("m", range(250))
    assert (desk.state("m"), desk.claim(5)) == ("aggregating", [])
    desk.make_due("~redo:m")
    desk.tick()
    assert (desk.counts(), len(desk.claim(5))) == ((100, 0, 0, 0, 150), 5)
    desk.check()


@pytest.mark.parametrize(
    "data",
    [
        {"a": list(range(3000)), "b": [[1, [2]], {}, [], {"c": 1}]},
        {"a": [[["]"], '["'], 1], "}": "{", "b": '\\"'},
        {"a": ["\\" * 9 + '"', "\\" * 8, '"' * 5, "\\"], "z": [1, 2, ["]"]], "b": "[{"},
        {"a": {"a": 1, "q": [1, {"r": None}]}, "b": -1.5e300},
    ],
)
def test_fields_behind_nested_data_and_odd_texts_are_found(desk: ChunkDesk, data: dict[str, Any]) -> None:
    stuck(desk, [data, data | {"b": 0}])
    assert control.set_fields("m", {"b": ["n"]}, [0, 1]).changed == 2
    assert data_of(desk, 0, 1) == [data | {"b": ["n"]}] * 2
    assert control.set_fields("m", {"a": None}, state="failed").changed == 0  # they run again already


def test_a_task_that_is_cancelled_in_the_middle_of_a_mass_edit_forgets_it(desk: ChunkDesk) -> None:
    stuck(desk, [{"a": number} for number in range(900)])
    desk.broker.mend_chunks(POOL, "m", "set", whole="failed", value=b'1000000:{"a":0}')
    desk.told("cancel", "m")
    desk.make_due("~redo:m")
    desk.tick()
    assert (desk.field("rd"), desk.client.exists(chunk_set(desk.keys, "m", "edits"))) == ("", 0)


@pytest.mark.parametrize("fields", [{}, [], "a", None, {1: 2}])
def test_fields_that_are_none_are_refused(desk: ChunkDesk, fields: Any) -> None:
    stuck(desk, [{"a": 1}])
    with pytest.raises(BadOption, match="an object with a field or more"):
        control.set_fields("m", fields, state="failed")


def test_what_cannot_be_stored_or_says_not_which_chunks_is_refused(desk: ChunkDesk) -> None:
    stuck(desk, [{"a": 1}, {"a": 1}])
    with pytest.raises(NotEncodable, match=r"fields for the chunks of tests\.count"):
        control.set_fields("m", {"a": object()}, state="failed")
    with pytest.raises(PayloadTooLarge, match=r"data of the chunks of tests\.count"):
        control.edit_chunks("m", "x" * 2_000_000, state="failed")
    for change in (
        lambda **which: control.set_fields("m", {"a": 1}, **which),
        lambda **w: control.edit_chunks("m", 1, **w),
    ):
        with pytest.raises(BadOption, match="one of errored, done, failed"):
            change(state="active")
        with pytest.raises(BadOption, match="or else a state is"):
            change()
    assert control.set_fields("nobody", {"a": 1}, state="failed").state == ""
    assert data_of(desk, 0, 1) == [{"a": 1}, {"a": 1}]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(["a", "b", 'q"', "\\", "", "é", "{", "a:1,", "\n", "\x00"]) | st.text(max_size=4)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=5)


@given(data=st.lists(OBJECTS | JSON, min_size=1, max_size=8), fields=OBJECTS.filter(bool), spaced=st.booleans())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=True)
def test_fields_are_set_as_a_reader_of_json_would(
    desk: ChunkDesk, data: list[Any], fields: dict[str, Any], spaced: bool
) -> None:
    encoded = [json.dumps(each, indent=1).encode() if spaced else encode_result("t", each) for each in data]
    desk.client.flushdb()
    desk.push_mapped(chunks=encoded, drop=str(len(data)))
    for lease in desk.claim(len(data)):
        desk.fail(lease)
    if desk.state("m") == "pending":
        desk.told("cancel", "m")
    answer = control.set_fields("m", fields, state="failed")
    assert answer.changed == sum(isinstance(each, dict) for each in data)
    for number, each in enumerate(data):
        raw = desk.chunk(number)["a"].encode()
        expected = each | fields if isinstance(each, dict) else each
        assert (json.loads(raw) if raw else None) == expected
