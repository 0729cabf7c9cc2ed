"""`limit`, `rate` and `limit_key` of a MapReduce class: their key, what is refused, and what is told of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command

from queueops import MapReduce, chain, inspect
from queueops.errors import BadArguments, BadOption
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.mapreduce.bench import ChunkDesk
from tests.mapreduce.test_limits import gather, keyed

pytestmark = pytest.mark.usefixtures("namespace")


class Export(MapReduce):
    """Two chunks of a user at once."""

    name = "tests.limited_export"
    limit, limit_key = 2, "{user_id}"

    def map(self, user_id: int, chunks: int = 2) -> Iterator[int]:
        """So many chunks."""
        yield from range(chunks)

    def process(self, chunk: int) -> int:
        """It."""
        return chunk

    def reduce(self, results: Any) -> int:
        """Their sum."""
        return sum(results)


class Crawl(MapReduce):
    """Ten chunks of a host a minute."""

    name = "tests.limited_crawl"
    rate = "10/m"

    def limit_key(self, host: str | None) -> str | None:
        """The host."""
        return host

    def map(self, host: str | None) -> list[str | None]:
        """One chunk."""
        return [host]

    def process(self, chunk: Any) -> Any:
        """It."""
        return chunk


def key_of(handle: Any) -> tuple[str, str, str]:
    """The fields of a record that limit its chunks."""
    row = ChunkDesk(get_broker())
    return row.field("ck", handle.id), row.field("cl", handle.id), row.field("cq", handle.id)


def test_a_key_is_made_of_the_arguments_of_the_map() -> None:
    assert key_of(Export.push(42)) == ("42", "2", "")
    assert key_of(Export.using(limit=5, rate="1/s").push(user_id=42)) == ("42", "5", "1")
    assert key_of(Crawl.push("a.example")) == ("host=a.example", "", "0.166666667")
    assert key_of(Crawl.push(None)) == ("", "", "")
    with pytest.raises(BadArguments, match="its limit_key= needs the first argument"):
        chain(Crawl.s("a"), Crawl.s()).push()
    with pytest.raises(BadArguments, match="its limit_key returned ''"):
        Crawl.push("")


def test_a_worker_runs_all_chunks_and_nothing_is_left_of_the_key() -> None:
    handles = [Export.push(user, 4) for user in (1, 1, 2)]
    run_worker()
    assert [handle.result(timeout=5) for handle in handles] == [6, 6, 6]
    broker = get_broker()
    assert not [*broker.client.scan_iter(f"{ChunkDesk(broker).keys.prefix}:limit*", count=10_000)]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"limit": 0}, "limit is 0, but it must be a whole number from 1"),
        ({"rate": "10/y"}, "rate is '10/y', but it must be a text such as"),
        ({"limit_key": "{path}"}, "limit_key .* given with limit or rate"),
        ({"limit": 1, "limit_key": "{user}"}, "limit_key .* a template of path; {user} is none of them"),
        ({"limit": 1, "limit_key": 3}, "limit_key is 3, but it must be a function of the arguments"),
    ],
)
def test_a_wrong_limit_is_refused_where_the_class_is_defined(options: dict[str, Any], expected: str) -> None:
    sound = {"name": "tests.limited_wrong", "map": lambda self, path: [path], "process": lambda self, chunk: chunk}
    with pytest.raises(BadOption, match=expected):
        type("Wrong", (MapReduce,), sound | options)


def test_options_of_ids_are_refused() -> None:
    for options in ({"throttle": 5}, {"debounce": 5}, {"unique_for": 5}):
        with pytest.raises(BadOption, match="only a task that is a function has it"):
            Export.using(**options).push(1)


def texts_of(task_id: str) -> list[str]:
    """The findings about a task."""
    return [finding.text for finding in inspect.why(task_id)]


def test_why_and_the_name_tell_which_chunks_wait_for_which_key(capsys: pytest.CaptureFixture[str]) -> None:
    desk = ChunkDesk(get_broker())
    gather(desk, 3, m=keyed(1, "user_id=7"), n=keyed(1, "user_id=7"))
    (lease,) = desk.claim(9)
    other = "n" if lease.id[0] == "m" else "m"
    told = f"3 chunks wait for their key user_id=7: 1 of 1 run ({lease.id}). The task is the next one."
    assert told in texts_of(other)
    assert f"2 chunks wait for their key user_id=7: 1 of 1 run ({lease.id}). 1 task comes first." in texts_of(
        lease.id[0]
    )
    found = inspect.task_name("tests.count")
    assert found is not None
    (key,) = found.keys
    assert (key.key, key.waiting, key.parts, key.running, key.next) == ("user_id=7", 2, 5, 1, other)
    call_command("queue", "name", "tests.count")
    assert "user_id=7 (5 chunks of 2 tasks wait, 1 run)" in capsys.readouterr().out
    view = inspect.chunks_of(other)
    assert view is not None
    assert (view.key, view.key_limit, view.key_rate) == ("user_id=7", 1, "")


def test_why_tells_the_rate_and_the_turn_of_chunks() -> None:
    desk = ChunkDesk(get_broker())
    gather(desk, 2, m=keyed(None, "*", "0.0002"))
    assert "2 chunks have a turn of their limit." in texts_of("m")
    desk.end_all(desk.claim(9))
    (told,) = [text for text in texts_of("m") if "1 chunk waits" in text]
    assert told.startswith("1 chunk waits for its limit: its rate of 17.28/d allows a start in 1.")


def test_the_sample_of_a_pool_says_whose_chunks_wait_for_a_key() -> None:
    desk = ChunkDesk(get_broker())
    gather(desk, 3, m=keyed(1), n=keyed(1), z={"max_parallel": 2})
    desk.claim(9)
    get_broker().sample(desk.pool)
    rows = {row.id: (row.waits, row.limit, row.closed) for row in inspect.chunk_lanes()}
    assert rows == {"m": (True, 1, False), "n": (True, 1, False), "z": (False, 2, False)}


def test_chunks_without_a_limit_cost_what_they_did_and_look_at_no_key(desk: ChunkDesk) -> None:
    desk.push_mapped("m", 4)
    before = desk.client.info("commandstats")
    desk.end_all(desk.claim(4))
    after = desk.client.info("commandstats")
    for command in ("sismember", "scard", "srem", "sadd"):
        name = f"cmdstat_{command}"
        assert after.get(name, {}).get("calls", 0) == before.get(name, {}).get("calls", 0), command
