"""`manage.py queue chunks`, `mend` and `restart`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console.models import AuditEntry
from queueops import inspect
from queueops.redis.broker import get_broker
from tests.inspecting.test_queue_command import failing, queue, queue_json
from tests.support.chunkwork import ChunkWork

pytestmark = pytest.mark.django_db


@pytest.fixture
def work(namespace: str) -> ChunkWork:
    """Ten chunks: two failed, two are done, the others pending."""
    made = ChunkWork(get_broker(), xr=1)
    made.map([{"n": number, "token": "hunter2\x1b[31m"} for number in range(10)])
    made.fail(made.claim(2))
    made.done(made.claim(2))
    return made


def counts() -> dict[str, int]:
    view = inspect.chunks_of("count")
    assert view is not None
    return view.counts


def test_chunks_are_listed_by_state_a_page_at_a_time(work: ChunkWork) -> None:
    page = queue_json("chunks", "count", "--state", "failed", "--limit", "1")
    assert [row["number"] for row in page["rows"]] == [1]
    rest = queue_json("chunks", "count", "--state", "failed", "--after", page["next"])
    assert [row["number"] for row in rest["rows"]] == [0]
    shown = queue("chunks", "count")
    assert "10 of 10" in shown
    assert "no number: 'x'" in shown
    assert "hunter2" not in shown
    assert "continue with --after" in queue("chunks", "count", "--limit", "3")


def test_what_is_not_there_or_wrongly_written_is_told(work: ChunkWork) -> None:
    assert failing("chunks", "nobody") == (1, "There is no task 'nobody'.")
    assert failing("chunks", "count", "--state", "faild")[0] == 2
    assert failing("mend", "count", "retry")[0] == 2
    assert failing("mend", "count", "retry", "--state", "active", "--yes")[0] == 2
    assert failing("mend", "nobody", "retry", "1")[0] == 1


@pytest.mark.parametrize("verb", [("show",), ("tree",), ("chunks",), ("mend", "retry")])
def test_a_verb_on_tasks_names_the_command_for_a_chunk(work: ChunkWork, verb: tuple[str, ...]) -> None:
    told = "It is a part of the task count: manage.py queue why 'count#5'"
    assert failing(verb[0], "count#5", *verb[1:]) == (1, f"There is no task 'count#5'. {told}")
    assert failing(verb[0], "count#99", *verb[1:]) == (1, "There is no task 'count#99'.")


def test_chunks_are_mended_by_number_or_by_state(work: ChunkWork, monkeypatch: pytest.MonkeyPatch) -> None:
    assert queue("mend", "count", "drop", "5", "6") == "2 chunks done; the task is aggregating\n"
    asked: list[str] = []

    def answer(question: str) -> Any:
        asked.append(question)
        return "y"

    monkeypatch.setattr("builtins.input", answer)
    assert queue_json("mend", "count", "retry", "--state", "failed")["changed"] == 4
    assert asked == ["Retry 4 chunks? [y/N] "]
    assert counts() == {"pending": 8, "active": 0, "errored": 0, "done": 2, "failed": 0}


def test_a_refused_chunk_makes_the_command_fail_and_is_told(work: ChunkWork, capsys: Any) -> None:
    assert failing("mend", "count", "retry", "0", "9")[0] == 1
    assert counts()["failed"] == 1


def data_of(number: int) -> Any:
    found = inspect.chunk("count", number)
    assert found is not None
    return json.loads(found.data_json)


def test_fields_are_set_in_all_failed_chunks_after_a_look_at_the_first(
    work: ChunkWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or "y")
    answer = queue_json("edit-chunks", "count", "--state", "failed", "--fields", '{"n": [], "host": "b"}')
    assert (answer["changed"], answer["unfit"], counts()["failed"]) == (2, 0, 0)
    lines = asked[0].splitlines()
    assert lines[0].startswith('chunk 1: {"n": 1, "token": "')
    assert lines[0].endswith(', "host": "b"}')
    assert lines[2] == "Change the data of 2 chunks, and run them again? [y/N] "
    assert "hunter2" not in asked[0]
    assert data_of(0)["host"] == "b"
    assert b"hunter2" in (work.broker.chunk_rows("default", "count", [0], "a")[0].fields["a"] or b"")
    entry = AuditEntry.objects.get(verb="set_chunks")
    assert (entry.changed, entry.target) == (2, "count: failed")
    assert json.loads(entry.after["fields"]) == {"n": [], "host": "b"}


def test_chunks_get_other_data_by_number_and_what_keeps_its_data_is_told(work: ChunkWork) -> None:
    assert queue("edit-chunks", "count", "1", "--data", "[7]") == "1 chunk changed; the task is aggregating\n"
    assert data_of(1) == [7]
    work.fail(work.claim(1), delay_ms=3_600_000)
    assert failing("edit-chunks", "count", "0", "1", "--fields", '{"n": 1}')[0] == 1
    assert failing("edit-chunks", "count", "--state", "errored", "--yes", "--fields", '{"n": 1}')[0] == 1
    assert AuditEntry.objects.latest("pk").detail.startswith("1 keeps its data, which has no fields")
    for wrong in (
        ["--fields", "[1]"],
        ["--fields", "{", "--state", "failed"],
        ["--fields", "{}", "0"],
    ):
        assert failing("edit-chunks", "count", *wrong)[0]
    for wrong in ([], ["--data", "1", "--fields", "{}"]):
        assert "--data" in failing("edit-chunks", "count", "0", *wrong)[1]


def test_a_task_begins_again_at_a_stage(work: ChunkWork) -> None:
    assert queue("restart", "count", "process") == "count: OK, aggregating\n"
    assert counts()["pending"] == 8
    assert failing("restart", "count", "reduce")[0] == 1
    queue("restart", "count", "map", "--yes")
    task = inspect.task("count")
    assert task is not None
    assert task.state == "pending"
