"""Deleted tasks keep their memory in the trash. `queue trash --empty` frees it, as the alarm of a full store says."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest
import redis
from django.core.management import call_command
from django.core.management.base import CommandError

from console.models import AuditEntry
from queueops import MapReduce, control, inspect, task
from queueops.inspect.store_health import store_alarms
from queueops.redis.broker import get_broker, maintenance
from queueops.testing import run_worker
from tests.kernel.desk import Desk


@task
def echo(text: str) -> str:
    """Give it back."""
    return text


def trash(*arguments: str, answer: str | None = None) -> str:
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO("" if answer is None else f"{answer}\n"))
        call_command("queue", "trash", *arguments, stdout=output)
    return output.getvalue()


def deleted(count: int, pool: str = "default") -> list[str]:
    """Ids of ended tasks, each with a large result, which are deleted."""
    ids = [handle.id for handle in echo.using(pool=pool).push_many([("x" * 100_000,)] * count)]
    run_worker(pools=[pool])
    control.delete(ids, pool)
    return ids


def trash_of(client: redis.Redis, namespace: str, pool: str = "default") -> list[Any]:
    prefix = f"{{{namespace}:{pool}}}"
    return [
        *client.scan_iter(match=f"{prefix}:trash*", count=1000),
        *(member for member in client.zrange(f"{prefix}:agenda", 0, -1) if member.startswith(b"~trash:")),
    ]


@pytest.mark.django_db
def test_the_trash_is_emptied_for_good_and_frees_its_memory(namespace: str, redis_client: redis.Redis) -> None:
    ids, others = deleted(20), deleted(3, "mail")
    kept = echo.push("y")
    full = redis_client.info("memory")["used_memory"]
    said = trash("--pool", "default", "--empty", "--yes")
    assert said.strip() == "20 tasks in the trash of the pool default were deleted for good."
    assert trash_of(redis_client, namespace) == []
    assert full - redis_client.info("memory")["used_memory"] > 20 * 100_000
    assert {row.word for row in control.restore(ids)} == {"GONE"}
    assert {row.word for row in control.restore(others)} == {"OK"}
    assert kept.status() is not None
    Desk(get_broker()).check()


@pytest.mark.django_db
def test_it_asks_and_shows_what_is_kept(namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "BATCH", 1)  # several calls, whose counts are added
    deleted(2)
    deleted(1, "mail")
    assert json.loads(trash("--json")) == {"pools": {"default": 2, "mail": 1}}
    assert "DELETED TASKS" in trash()
    with pytest.raises(CommandError):
        trash("--empty", answer="no")
    assert inspect.trash("default") == 2
    assert json.loads(trash("--empty", "--yes", "--json")) == {"pools": {"default": 2, "mail": 1}}
    assert trash("--empty").strip() == "The trash is empty."
    assert [(entry.verb, entry.target, entry.changed) for entry in AuditEntry.objects.order_by("pk")] == [
        ("empty_trash", "default", 2),
        ("empty_trash", "mail", 1),
    ]


@pytest.mark.django_db
def test_a_pool_that_does_not_exist_is_refused(namespace: str) -> None:
    deleted(1)
    with pytest.raises(CommandError, match="There is no pool 'defualt'"):
        trash("--pool", "defualt", "--empty")


def test_what_is_deleted_meanwhile_stays(namespace: str) -> None:
    deleted(1)
    broker = get_broker()
    _, _, before = broker.empty_trash("default", "1")
    assert before == "1"
    assert inspect.trash("default") == 1
    assert control.empty_trash("default") == control.EmptiedTrash(1, 0)


class Many(MapReduce):
    """A map-reduce with more chunks than one step deletes."""

    def map(self, count: int) -> Any:
        """So many chunks."""
        yield from range(count)

    def process(self, chunk: int) -> int:
        """The chunk."""
        return chunk

    def reduce(self, results: Any) -> int:
        """Their number."""
        return sum(1 for _ in results)


def test_a_record_with_many_chunks_goes_in_steps(namespace: str, redis_client: redis.Redis) -> None:
    handle = Many.push(2_500)
    run_worker()
    control.delete([handle.id])
    assert control.empty_trash("default") == control.EmptiedTrash(1, 0)
    assert not list(redis_client.scan_iter(match=f"*{handle.id}*", count=10_000))


FULL = {"redis_version": "9.0", "aof_enabled": 1, "maxmemory_policy": "noeviction", "maxmemory": 100, "used_memory": 90}


def test_the_alarm_of_a_full_store_offers_to_empty_the_trash() -> None:
    (alarm,) = store_alarms(FULL, trash={"mail": 5, "default": 2_000})
    assert alarm.text == (
        "The store uses 90% of its memory limit. At the limit it refuses pushes."
        " The trash keeps 2,005 deleted tasks for up to 24 hours. Empty it, or raise maxmemory."
    )
    assert (alarm.command, alarm.verb, alarm.target) == ("manage.py queue trash --empty", "empty_trash", "default/")
    (alarm,) = store_alarms(FULL)
    assert (alarm.command, alarm.verb) == ("redis-cli CONFIG SET maxmemory 200", "")


def test_the_figures_of_a_pool_count_its_trash(namespace: str) -> None:
    deleted(3)
    assert json.loads(get_broker().sample("default"))["trashed"] == 3
