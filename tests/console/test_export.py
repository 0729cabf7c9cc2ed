"""Export of lists and tasks: complete, streamed, masked, safe in a spreadsheet, with a permission and audited."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.test import Client

from console.models import AuditEntry
from console.pages.export import exports
from queueops.errors.export import ExportStopped
from queueops.inspect import Broken, TaskPage
from queueops.inspect import export as exported
from queueops.redis.broker import get_broker
from tests.kernel.desk import Desk
from tests.support.monitoring import counted_trips
from tests.support.specimens import specimens

pytestmark = pytest.mark.django_db
MANY = 450


@pytest.fixture
def boss() -> Client:
    """A superuser."""
    client = Client()
    client.force_login(User.objects.create_superuser("grace"))
    return client


@pytest.fixture
def desk(namespace: str) -> Desk:
    """450 tasks with a tag, and one without."""
    made = Desk(get_broker())
    made.push(*(f"a{number}" for number in range(MANY)), tags=("vip",))
    made.push("b")
    return made


def text_of(answer: Any) -> str:
    assert answer.status_code == 200, answer.content
    return b"".join(answer.streaming_content).decode()


def rows_of(answer: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text_of(answer), newline="")))


def permitted(*codenames: str) -> Client:
    user = User.objects.create_user("-".join(codenames) or "none")
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


def test_a_filtered_list_is_exported_whole_in_few_round_trips_and_is_in_the_audit_log(desk: Desk, boss: Client) -> None:
    answer = boss.get("/ops/export/tasks/?tag=vip&format=ndjson&after=")
    assert AuditEntry.objects.get().outcome == "begun"
    with counted_trips() as trips:
        rows = [json.loads(line) for line in text_of(answer).splitlines()]
    assert sorted(row["id"] for row in rows) == sorted(f"a{number}" for number in range(MANY))
    assert trips.made <= 2 * 2  # the first of three pages was read before the stream
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.target, entry.outcome, entry.changed) == ("export", "tasks?tag=vip", "done", MANY)
    assert "attachment" in answer["Content-Disposition"]
    page = boss.get(f"/ops/audit/{entry.pk}/").content.decode()
    assert "tasks?tag=vip" in page


def test_cells_are_no_formulas_and_secrets_are_masked(namespace: str, boss: Client) -> None:
    desk = Desk(get_broker())
    hostile = ("=1+2", "+1", "-1", "@SUM", "\tx", "\rx", "plain")
    for number, lane in enumerate(hostile):
        desk.push(f"t{number}", args=json.dumps([[], {"password": "hunter2"}]).encode(), tags=(f"x{number}",))
        desk.client.hset(desk.keys.task(f"t{number}"), "y", lane)
    rows = {row["id"]: row for row in rows_of(boss.get("/ops/export/tasks/"))}
    assert [rows[f"t{number}"]["reason"] for number in range(7)] == [*(f"'{text}" for text in hostile[:-1]), "plain"]
    assert "hunter2" not in str(rows)
    assert rows["t0"]["created"].endswith("Z")
    assert rows["t0"]["priority"] == "0"


def test_every_list_is_exported_in_both_formats(namespace: str, boss: Client) -> None:
    with specimens():
        boss.get("/ops/audit/")
        for name, each in exports().items():
            head = [column.removesuffix("_ms") for column in each.columns]
            assert text_of(boss.get(f"/ops/export/{name}/")).splitlines()[0] == ",".join(head), name
            lines = text_of(boss.get(f"/ops/export/{name}/?format=ndjson")).splitlines()
            assert all(json.loads(line).keys() == set(each.columns) for line in lines)
            menu = boss.get({"commands": "/ops/pool-messages/", "chunks": "/ops/mapreduce/"}.get(name, f"/ops/{name}/"))
            assert f'/ops/export/{name}/?format=csv"' in menu.content.decode(), name


def test_an_export_needs_its_own_permission_and_conceals_what_its_user_may_not_see(
    desk: Desk, client_of: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exported, "OF_A_PAGE", 1)  # the second page is read after the view has ended
    desk.push("secret", args=b'[["order 4711"],{}]', tags=("one",))
    desk.push("later", tags=("one",))
    for client in (client_of("administrators"), permitted("export"), permitted("view", "see_arguments")):
        assert client.get("/ops/export/tasks/").status_code == 403
        assert client.get("/ops/tasks/secret/_export").status_code == 403
        assert b"/ops/export/" not in client.get("/ops/tasks/").content
    found = {}
    for more in ((), ("see_arguments",)):
        client = permitted("view", "export", *more)
        _, row = rows_of(client.get("/ops/export/tasks/?tag=one"))
        one = client.get("/ops/tasks/secret/_export?pool=default")
        found[more] = ["4711" in text for text in (row["args"], one.content.decode())]
        assert one.json()["id"] == "secret"
        assert AuditEntry.objects.filter(verb="export", target="secret").exists()
    assert found == {(): [False, False], ("see_arguments",): [True, True]}


def test_the_filter_of_a_page_holds_for_its_export(namespace: str, boss: Client) -> None:
    with specimens():
        for name, wanted in (("lanes", "narrow"), ("workers", "w1"), ("registry", "noop"), ("schedules", "hourly")):
            rows = rows_of(boss.get(f"/ops/export/{name}/?f={wanted}"))
            assert rows, name
            assert all(wanted in str(row) for row in rows), name
            assert not rows_of(boss.get(f"/ops/export/{name}/?f=nothing-of-this"))
        assert rows_of(boss.get("/ops/export/errors/"))
        assert not rows_of(boss.get("/ops/export/errors/?show=muted"))


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("tasks/?state=eroded", 400),
        ("tasks/?format=xls", 400),
        ("audit/?until=never", 400),
        ("no-such/", 404),
        ("workflows/?older=never", 400),
        ("aggregations/?show=x", 400),
    ],
)
def test_a_wrong_export_is_refused_with_the_reason(desk: Desk, boss: Client, address: str, status: int) -> None:
    assert boss.get(f"/ops/export/{address}").status_code == status
    assert not AuditEntry.objects.filter(verb="export").exists()


def test_an_export_that_ends_early_is_no_whole_file(desk: Desk, boss: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = boss.get("/ops/export/tasks/")
    stream: Any = answer._iterator  # type: ignore[attr-defined]  # Django's test client closes the request with it
    next(stream)
    stream.close()
    entry = AuditEntry.objects.get()
    assert (entry.outcome, entry.changed) == ("partly", 0)
    answer = boss.get("/ops/export/tasks/")
    broken = TaskPage(rows=(), broken=(Broken(pool="mail", reason="timed out"),))
    monkeypatch.setattr(exported, "tasks", lambda *_: broken)
    with pytest.raises(ExportStopped, match="Pool mail does not answer"):
        text_of(answer)
    entry = AuditEntry.objects.first()
    assert entry is not None
    assert (entry.outcome, entry.changed) == ("failed", 200)
    assert boss.get("/ops/export/tasks/").status_code == 503


def test_a_terminal_exports_all_tasks_that_match(desk: Desk) -> None:
    out = StringIO()
    call_command("queue", "export", "--tag", "vip", stdout=out)
    assert len(list(csv.DictReader(StringIO(out.getvalue())))) == MANY
    call_command("queue", "export", "--id", "b", "--format", "ndjson", stdout=(found := StringIO()))
    assert json.loads(found.getvalue())["id"] == "b"
