"""The data of many chunks is changed at once: all of it, or some of its fields."""

from __future__ import annotations

import json
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from queueops import control
from queueops.contracts import Outcome
from queueops.encoding import encode_result
from queueops.errors import BadOption, NotEncodable, PayloadTooLarge
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
    assert desk.client.exists(desk.keys.chunks("m", "edits")) == 0


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
    assert desk.client.exists(desk.keys.chunks("m", "edits")) == 0
    assert len(desk.claim(5)) == 5


def test_long_data_is_changed_in_shorter_steps(desk: ChunkDesk) -> None:
    stuck(desk, [{"a": "x" * 40_000, "n": number} for number in range(20)])
    answer = desk.broker.mend_chunks(POOL, "m", "set", whole="failed", value=b'1000000:{"n":0}')
    assert 0 < answer.changed < 10
    desk.broker.mend_all(POOL, "m", "set", "failed", value=b'1000000:{"n":0}')
    assert desk.counts()[0] == 20


def test_a_task_that_is_cancelled_in_the_middle_of_a_mass_edit_forgets_it(desk: ChunkDesk) -> None:
    stuck(desk, [{"a": number} for number in range(900)])
    desk.broker.mend_chunks(POOL, "m", "set", whole="failed", value=b'1000000:{"a":0}')
    desk.told("cancel", "m")
    desk.make_due("~redo:m")
    desk.tick()
    assert (desk.field("rd"), desk.client.exists(desk.keys.chunks("m", "edits"))) == ("", 0)


@pytest.mark.parametrize("fields", [{}, [], "a", None, {1: 2}])
def test_fields_that_are_none_are_refused(desk: ChunkDesk, fields: Any) -> None:
    stuck(desk, [{"a": 1}])
    with pytest.raises(BadOption, match="an object with a field or more"):
        control.set_fields("m", fields, state="failed")


def test_what_cannot_be_stored_or_says_not_which_chunks_is_refused(desk: ChunkDesk) -> None:
    stuck(desk, [{"a": 1}, {"a": 1}])
    with pytest.raises(NotEncodable, match="fields for the chunks"):
        control.set_fields("m", {"a": object()}, state="failed")
    with pytest.raises(PayloadTooLarge, match="data of the chunks"):
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
