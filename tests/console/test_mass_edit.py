"""Other data for many chunks in the console: written, looked at, confirmed, done."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from console.models import AuditEntry, Outcome
from queueops import inspect
from queueops.kinds.mapreduce.store import actions as chunk_actions
from queueops.redis.broker import get_broker
from tests.support.chunkwork import ChunkWork

pytestmark = pytest.mark.django_db
PAGE = "/ops/mapreduce/count/"
FIELDS = {"change": "fields", "value": '{"path": "b.txt"}', "whole": ["failed", "errored"], "next": PAGE}


def counts() -> dict[str, int]:
    view = inspect.chunks_of("count")
    assert view is not None
    return view.counts


def entry() -> AuditEntry:
    return AuditEntry.objects.get()


def html(client: Client, path: str = PAGE) -> str:
    return client.get(path).content.decode()


def test_all_errored_chunks_are_edited_after_a_look_at_the_first(work: ChunkWork, operator: Client) -> None:
    link = "/ops/mapreduce/count/edit/?pool=default&amp;whole=errored&amp;whole=failed"
    assert link in html(operator)
    form = html(operator, link.replace("&amp;", "&"))
    assert "Edit and retry: 3 chunks" in form
    assert "2.txt" in form
    asked = operator.post(f"{PAGE}_edit", FIELDS).content.decode()
    assert "b.txt" in asked
    assert asked.count("[redacted]") == 6
    assert not AuditEntry.objects.exists()
    answer = operator.post(f"{PAGE}_edit", FIELDS | {"confirmed": "3"}, follow=True)
    assert "Edit and retry: 3 chunks." in answer.content.decode()
    assert counts() == {"pending": 13, "active": 2, "errored": 0, "done": 15, "failed": 0}
    for number in range(3):
        row = work.broker.chunk_rows("default", "count", [number], "a")[0]
        assert json.loads(row.fields["a"] or b"") == {"path": "b.txt", "token": "hunter2"}
    assert (entry().verb, entry().changed, entry().before["whole"]) == ("set_chunks", 3, ["failed", "errored"])
    assert json.loads(entry().after["fields"]) == {"path": "b.txt"}


def test_ticked_chunks_get_the_same_data(work: ChunkWork, operator: Client) -> None:
    ticked = {"chunk": ["0", "1"], "next": PAGE, "pool": "default"}
    assert "Edit and retry: 2 chunks" in operator.post(f"{PAGE}_edit", ticked).content.decode()
    whole = ticked | {"change": "data", "value": "[1]"}
    assert "Change it" in operator.post(f"{PAGE}_edit", whole).content.decode()
    assert "Preview the change" in operator.post(f"{PAGE}_edit", whole | {"again": "1"}).content.decode()
    operator.post(f"{PAGE}_edit", whole | {"confirmed": "2"})
    assert (entry().verb, counts()["failed"]) == ("redo_chunks", 0)


def test_what_keeps_its_data_is_told(work: ChunkWork, operator: Client) -> None:
    operator.post(f"{PAGE}0/_edit", {"data": "[1]"})
    assert "unchanged: the data has no fields" in operator.post(f"{PAGE}_edit", FIELDS).content.decode()
    page = operator.post(f"{PAGE}_edit", FIELDS | {"confirmed": "3"}, follow=True).content.decode()
    assert "1 keeps its data, which has no fields, or would be too long" in page
    found = AuditEntry.objects.latest("pk")
    assert (found.outcome, found.changed, counts()["failed"]) == (Outcome.PARTLY, 2, 1)


@pytest.mark.parametrize(
    "form",
    [
        {"value": ""},
        {"value": "{"},
        {"value": "{}"},
        {"value": "[1]"},
        {"value": '{"a": "[redacted]"}'},
        {"change": "data", "value": "nonsense"},
        {"change": "all"},
    ],
)
def test_a_change_that_makes_no_sense_is_shown_again(form: dict[str, str], work: ChunkWork, operator: Client) -> None:
    answer = operator.post(f"{PAGE}_edit", FIELDS | {"confirmed": "3"} | form)
    assert (answer.status_code, counts()["failed"]) == (422, 2)
    assert not AuditEntry.objects.exists()


def test_who_may_not_see_data_is_not_offered_to_edit_it(work: ChunkWork, client_of: Callable[..., Client]) -> None:
    client = client_of("viewers")
    User.objects.get(username="viewers").user_permissions.add(Permission.objects.get(codename="operate"))
    assert "edit-errored" not in html(client)
    assert client.get(f"{PAGE}edit/").status_code == 403
    assert client.post(f"{PAGE}_edit", FIELDS | {"confirmed": "3"}).status_code == 403
    assert counts()["failed"] == 2


def test_what_is_still_to_come_is_told(namespace: str, operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_actions, "STEPS", 0)
    many = ChunkWork(get_broker())
    many.map([{"n": number} for number in range(150)])
    many.fail(many.claim(150))
    form = FIELDS | {"whole": "failed", "confirmed": "150"}
    page = operator.post(f"{PAGE}_edit", form, follow=True).content.decode()
    found = entry()
    assert (found.outcome, 0 < found.changed < 150) == (Outcome.PARTLY, True)
    assert f"{150 - found.changed} follow automatically" in page
