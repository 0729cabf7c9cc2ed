from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from console.models import AuditEntry
from queueops import inspect
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db


def fsck(*words: str) -> tuple[int, str]:
    """The exit status, and what was printed."""
    out = StringIO()
    try:
        call_command("queue", "fsck", *words, stdout=out)
    except SystemExit as error:
        return int(str(error.code)), out.getvalue()
    return 0, out.getvalue()


@pytest.fixture
def damaged(desk: Desk) -> Desk:
    """A task that is in no lane: no worker would ever run it."""
    desk.push("a", "b")
    desk.client.zrem(desk.keys.lane("default"), "a")
    return desk


def test_the_command_finds_changes_nothing_and_fails(damaged: Desk) -> None:
    before = damaged.everything()
    status, said = fsck()
    assert status == 1
    assert "default  a: it is ready, and not in its lane" in said
    assert "--repair" in said
    assert damaged.everything() == before
    assert not AuditEntry.objects.exists()


def test_a_repair_is_recorded_and_makes_the_task_run(damaged: Desk) -> None:
    status, said = fsck("--repair", "--json")
    found: dict[str, Any] = json.loads(said)
    assert (status, found["count"], found["repaired"]) == (0, 1, True)
    text = "it is ready, and not in its lane"
    assert found["faults"][0] == {"pool": "default", "id": "a", "text": text, "repaired": True}
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.changed) == ("fsck", 1)
    assert fsck() == (0, fsck()[1])
    assert sorted(damaged.drain()) == ["a", "b"]


def test_a_repair_says_of_each_fault_whether_it_stays_and_fails(damaged: Desk) -> None:
    broken = f"{damaged.keys.prefix}:tag:red"
    damaged.client.set(broken, "x")
    for option in ("--json", "--repair"):
        damaged.client.zrem(damaged.keys.lane("default"), "a")
        status, said = fsck("--repair", option)
        if option == "--json":
            found: dict[str, Any] = json.loads(said)
            assert (status, found["count"], found["left"], found["repaired"]) == (1, 2, 1, False)
            assert {row["id"]: row["repaired"] for row in found["faults"]} == {"a": True, "~key:tag:red": False}
    assert status == 1
    assert "2 faults among" in said
    assert ": 1 put right, 1 left." in said
    assert said.splitlines()[-1].startswith("default  ~key:tag:red: ")
    assert [entry.changed for entry in AuditEntry.objects.all()] == [1, 1]
    assert damaged.client.type(broken) == b"string"
    damaged.client.delete(broken)
    assert fsck("--repair")[0] == 0


def test_a_broken_pool_is_a_fault_and_a_missing_one_is_refused(damaged: Desk) -> None:
    damaged.client.set(damaged.keys.agenda, "x")
    status, said = fsck()
    assert status == 1
    assert f"{damaged.keys.agenda} is a string, not a zset" in said
    with pytest.raises(CommandError, match="no pool 'nope'"):
        fsck("--pool", "nope")
    damaged.client.flushall()


def test_why_names_the_command_that_mends_it(damaged: Desk) -> None:
    assert "Run `manage.py queue fsck`" in " ".join(finding.text for finding in inspect.why("a"))
