"""The consoles of other stores: each reads and changes its own store alone, and links to no other one."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test import Client

import console
from console.models import AuditEntry, ErrorTriage, PoolGrant
from queueops import Schedule, conf, control, inspect
from queueops.checks import check_environment
from queueops.inspect.alarm import manage, warning
from queueops.inspect.remembered import Remembered
from queueops.redis.broker import get_broker
from tests.console.standin import World
from tests.console.test_permissions import entry
from tests.console.walk import PAGES, Address, for_each_address
from tests.kernel.desk import Desk
from tests.schedules.conftest import FAR
from tests.schedules.jobs import report
from tests.support.for_each import for_each

SURE = {"pool": "default", "confirmed": "1", "typed": "1", "reason": "x"}
OF_PROJECT = {"outbox", "outbox-rows", "api-tokens"}
"""Pages of the project's database."""


@pytest.fixture(autouse=True)
def two_stores(namespace: str, settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.console.store_urls"
    settings.QUEUEOPS = {**settings.QUEUEOPS, "STORES": {"eu": {"NAMESPACE": f"{namespace}-eu"}}}


def there(address: str) -> str:
    return address.replace("/ops/", "/ops/@eu/", 1)


@for_each_address([one for one in PAGES if one.name not in OF_PROJECT])
def test_each_page_of_another_store_links_to_that_store_alone(client_of: Any, world: World, address: Address) -> None:
    visitor = client_of("administrators")
    with conf.in_store("eu"):
        entry(visitor)
    answer = visitor.get(there(address.path))
    assert answer.status_code == 200
    links = re.findall(r'="(/ops/[^"]*)"', answer.content.decode())
    assert {link for link in links if not link.startswith("/ops/@eu/")} <= {"/ops/"}  # the link to the own store


def test_pages_of_the_projects_database_are_in_its_own_console_alone(administrator: Client, world: World) -> None:
    assert administrator.get("/ops/api-tokens/").status_code == 200
    assert administrator.get("/ops/@eu/api-tokens/").status_code == 404
    assert "api-tokens" not in administrator.get("/ops/@eu/").content.decode()


def test_an_empty_store_of_another_project_shows_no_steps_that_change_this_one(operator: Client) -> None:
    assert "Start a worker" in operator.get("/ops/").content.decode()
    assert "Start a worker" not in operator.get("/ops/@eu/").content.decode()
    assert "No rule yet" in operator.get("/ops/alerts/").content.decode()
    assert "No rule yet" not in operator.get("/ops/@eu/alerts/").content.decode()


@pytest.fixture
def desks(two_stores: None) -> tuple[Desk, Desk]:
    """The project's own store and the other one; both have a task of the same id."""
    own = Desk(get_broker())
    with conf.in_store("eu"):
        other = Desk(get_broker())
    own.push("a1", args=b'["own"]')
    other.push("a1", args=b'["other"]')
    return own, other


def states(desks: tuple[Desk, Desk]) -> list[str]:
    return [str(desk.broker.record("default", "a1").state) for desk in desks]  # type: ignore[union-attr]


def test_an_action_changes_its_own_store_alone_and_its_audit_entry_stays_there(
    administrator: Client, desks: tuple[Desk, Desk]
) -> None:
    answer = administrator.post("/ops/@eu/tasks/a1/_cancel", {"pool": "default", "confirmed": "1"})
    assert answer.status_code == 302
    assert answer["Location"].startswith("/ops/@eu/")
    assert states(desks) == ["pending", "cancelled"]
    (undo,) = re.findall(r'action="(/ops/@eu/audit/\d+/_undo)"', administrator.get("/ops/@eu/audit/").content.decode())
    assert "_undo" not in administrator.get("/ops/audit/").content.decode()
    own = undo.replace("@eu/", "")
    assert administrator.get(own.removesuffix("_undo")).status_code == 404
    assert administrator.post(own, {"confirmed": "1"}).status_code == 404
    assert states(desks) == ["pending", "cancelled"]
    assert administrator.post(undo, {"confirmed": "1"}).status_code == 302
    assert states(desks) == ["pending", "pending"]


def test_the_message_of_an_action_waits_for_a_page_of_its_store(
    administrator: Client, desks: tuple[Desk, Desk]
) -> None:
    administrator.post("/ops/@eu/tasks/a1/_cancel", {"pool": "default", "confirmed": "1"})
    administrator.post("/ops/tasks/a1/_cancel", {"pool": "default", "confirmed": "1"})
    for address, undo in (("/ops/", "/ops/"), ("/ops/@eu/", "/ops/@eu/")):
        page = administrator.get(f"{address}settings/").content.decode()
        assert page.count("data-flash") == 1
        assert re.findall(r'action="([^"]+)audit/\d+/_undo"', page) == [undo]
        assert "data-flash" not in administrator.get(f"{address}settings/").content.decode()


def test_the_message_that_nothing_matches_waits_for_a_page_of_its_store(
    administrator: Client, desks: tuple[Desk, Desk]
) -> None:
    administrator.post("/ops/@eu/tasks/_all_cancel?state=failed")
    assert "No task matches" not in administrator.get("/ops/settings/").content.decode()
    assert "No task matches" in administrator.get("/ops/@eu/settings/").content.decode()


def test_each_message_of_the_console_is_one_of_its_store() -> None:
    modules = {path: path.read_text() for path in Path(console.__file__).parent.rglob("*.py")}
    told = re.compile(r"messages\.(debug|info|success|warning|error|add_message)\(")
    assert [path.name for path, text in modules.items() if told.search(text)] == ["notices.py"]


def test_after_a_deletion_the_list_of_the_same_store_follows(administrator: Client, desks: tuple[Desk, Desk]) -> None:
    with conf.in_store("eu"):
        control.create_schedule(report, Schedule(FAR, args=["x"]), id="there")
    for address, list in (("tasks/a1/_delete", "tasks"), ("schedules/there/_delete", "schedules")):
        answer = administrator.post(f"/ops/@eu/{address}", SURE)
        assert (answer.status_code, answer["Location"]) == (302, f"/ops/@eu/{list}/")
    assert desks[0].broker.record("default", "a1") is not None


def test_a_list_and_a_streamed_export_are_of_the_store_that_is_shown(
    administrator: Client, desks: tuple[Desk, Desk]
) -> None:
    desks[1].push(*(f"there-{number}" for number in range(450)))  # several pages
    assert "there-7" in administrator.get("/ops/@eu/tasks/").content.decode()
    assert "there-7" not in administrator.get("/ops/tasks/").content.decode()
    User.objects.filter(username="administrators").update(is_superuser=True)
    exported: Any = administrator.get("/ops/@eu/export/tasks/?format=csv")
    assert b"".join(exported.streaming_content).count(b"there-") == 450
    assert not conf.store_name()
    with conf.in_store("eu"):
        assert AuditEntry.objects.get(verb="export").changed == 451


def test_a_bulk_action_runs_on_the_store_that_is_shown(administrator: Client, desks: tuple[Desk, Desk]) -> None:
    form = {"state": "pending", "confirmed": "1", "typed": "1"}
    assert administrator.post("/ops/@eu/tasks/_all_cancel?state=pending", form).status_code == 302
    assert states(desks)[0] == "pending"
    with conf.in_store("eu"):
        assert states(desks)[1] == "cancelled" or inspect.operations()


def test_notes_on_errors_and_grants_in_pools_are_of_one_store(
    administrator: Client, viewer: Client, desks: tuple[Desk, Desk]
) -> None:
    desks[1].settle(desks[1].lease(), "error", b"{}", fingerprint="f1", title="E", delay_ms=-1)  # type: ignore[arg-type]
    assert administrator.post("/ops/errors/f1/_resolve").status_code == 404
    assert administrator.post("/ops/@eu/errors/f1/_resolve").status_code == 302
    assert not ErrorTriage.objects.exists()
    desks[1].push("a2")
    group = Group.objects.get(name="viewers")
    grant = PoolGrant.objects.create(group=group, pool="*", level="operate")
    cancel = {"pool": "default", "confirmed": "1"}
    assert viewer.post("/ops/@eu/tasks/a2/_cancel", cancel).status_code == 403
    assert AuditEntry.objects.count() == 0  # the denial is of the other store, too
    grant.store = "eu"
    grant.save()
    assert viewer.post("/ops/@eu/tasks/a2/_cancel", cancel).status_code == 302
    assert viewer.post("/ops/tasks/a2/_cancel", cancel).status_code == 403
    assert desks[1].broker.record("default", "a2").state == "cancelled"  # type: ignore[union-attr]


def test_the_terminal_asks_and_acts_in_a_named_store(
    administrator: Client, desks: tuple[Desk, Desk], capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("queue", "--store", "eu", "cancel", "a1", "--yes")
    assert states(desks) == ["pending", "cancelled"]
    assert not AuditEntry.objects.exists()
    call_command("queue", "--store", "eu", "show", "a1")
    assert "cancelled" in capsys.readouterr().out
    for store, command, told in (
        ("us", "status", "There is no store 'us'; known are: eu."),
        ("eu", "outbox", "The outbox is in the project's database: leave --store out."),
    ):
        with pytest.raises(CommandError) as refused:
            call_command("queue", "--store", store, command)
        assert (str(refused.value), refused.value.returncode) == (told, 2)


@for_each(
    "wrong",
    [
        ({"eu": {}}, "QUEUEOPS['STORES']['eu'] is {}, but it must be a dict with a \"URL\"."),
        ({"EU": {"URL": "redis://h"}}, "it must be named with 1 to 30 small letters, digits and -"),
        ({"eu": {"URL": "http://u:pw@h"}}, "QUEUEOPS['STORES']['eu']['URL'] is 'http://***@h', but it must be a URL"),
        ({"eu": {"URL": "redis://h", "LEASE": 3}}, "There is no setting QUEUEOPS['STORES']['eu']['LEASE']"),
        ({"eu": {"URL": "redis://h", "POOLS": {"a": {"timeout": -1}}}}, "['eu']['POOLS']['a']['timeout'] is -1"),
        (
            {"eu": {"CONNECT": {"password": "pw"}}},
            "['eu'] is {'CONNECT': {'password': '[redacted]'}}",
        ),
        ("redis://h", "QUEUEOPS['STORES'] is 'redis://h', but it must be a dict"),
    ],
)
def test_a_wrong_store_is_an_error_that_names_its_place(wrong: tuple[Any, str]) -> None:
    raw, told = wrong
    _settings, (error,) = conf.read_settings({"STORES": raw}, {})
    assert told in str(error)
    assert "pw" not in str(error)


def test_a_store_has_the_settings_of_its_entry_and_else_those_of_the_project(settings: Any) -> None:
    entry = {"URL": "redis://eu:1/0", "READ_ONLY": True, "POOLS": {"mail": {}}}
    settings.QUEUEOPS = {"URL": "redis://us:1/0", "NAMESPACE": "shop", "LEASE": 7, "STORES": {"eu": entry}}
    with conf.in_store("eu"):
        found = conf.current()
    assert (found.url, found.namespace, found.lease, found.read_only) == ("redis://eu:1/0", "shop", 7, True)
    assert found.environment is not None
    assert found.environment.name == "eu"
    assert (conf.current().url, conf.current().read_only, dict(conf.current().pools)) == ("redis://us:1/0", False, {})


def test_what_is_meant_for_the_projects_own_server_and_pools_does_not_reach_another(settings: Any) -> None:
    own = {"URL": "redis://us:1", "CONNECT": {"password": "pw"}, "POOLS": {"mail": {"lanes": {"*": {"limit": 1}}}}}
    stores = {"eu": {"URL": "redis://eu:1"}, "billing": {"NAMESPACE": "billing"}}
    settings.QUEUEOPS = {**own, "STORES": stores}
    with conf.in_store("eu"):
        assert (dict(conf.current().connect), dict(conf.current().pools)) == ({}, {})
    with conf.in_store("billing"):
        assert (dict(conf.current().connect), dict(conf.current().pools)) == ({"password": "pw"}, {})


def test_stores_that_differ_in_their_connection_alone_share_no_answer(settings: Any) -> None:
    url = settings.QUEUEOPS["URL"].partition("?")[0]
    entries = {name: {"URL": url, "CONNECT": {"db": number}} for name, number in (("eu", 1), ("us", 2))}
    settings.QUEUEOPS = {**settings.QUEUEOPS, "STORES": entries}
    with conf.in_store("eu"):
        desk = Desk(get_broker())
        desk.push("a1")
    told = {}
    for name in ("eu", "us"):
        with conf.in_store(name):
            told[name] = str(inspect.status(60).alarms)
    assert "1 task waits" in told["eu"]
    assert "waits" not in told["us"]
    with conf.in_store("eu"):
        assert get_broker() is desk.broker
        client = get_broker().client
        client.delete(*client.keys(f"*{desk.broker.settings.namespace}*"))


def test_a_question_of_the_terminal_names_the_store(
    administrator: Client,
    desks: tuple[Desk, Desk],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO())
    for store, asked in (("eu", "In the store eu:\nDelete everything in the namespace"), ("", "Delete everything in")):
        with pytest.raises(CommandError, match="add --yes"):
            call_command("queue", "--store", store, "flush")
        assert capsys.readouterr().err.startswith(asked)


def test_a_command_that_is_shown_names_the_store(desks: tuple[Desk, Desk], capsys: pytest.CaptureFixture[str]) -> None:
    with conf.in_store("eu"):
        control.pause_name(inspect.task("a1").name)  # type: ignore[union-attr]
        assert "manage.py queue --store eu resume" in str(inspect.why("a1"))
        control.resume_name(inspect.task("a1").name)  # type: ignore[union-attr]
        control.pause_lane("default", "default")
    call_command("queue", "--store", "eu", "why", "a1")
    assert "mend it: manage.py queue --store eu resume" in capsys.readouterr().out
    assert manage("queue", "errors") == "manage.py queue errors"


def test_a_command_that_serves_its_own_store_alone_names_the_project_of_the_store(
    administrator: Client, desks: tuple[Desk, Desk]
) -> None:
    started, mended = ("runworker", "--pool", "default"), ("queue", "fsck")
    keys = {warning("", "health", manage(*words)).key for words in (started, mended)}
    with conf.in_store("eu"):
        assert manage(*started) == "manage.py runworker --pool default (in the project of eu)"
        assert {warning("", "health", manage(*words)).key for words in (started, mended)} == keys
        assert "start `manage.py runworker --pool default (in the project of eu)`" in str(inspect.why("a1"))
    for address in ("", "workers/", "pools/default/", "schedules/", "audit/"):
        page = administrator.get(f"/ops/@eu/{address}").content.decode()
        shown = re.findall(r"<code>(manage.py [^<]*)</code>", page)
        assert all("(in the project of eu)" in each or "queue --store eu" in each for each in shown), shown
        assert shown or address == "schedules/"


def test_what_one_store_does_not_know_is_asked_of_another() -> None:
    titles: Remembered[str] = Remembered()
    with conf.in_store("eu"):
        assert titles.to_read(["a"]) == ["a"]
        titles.put("b", "there")
    assert titles.to_read(["a", "b"]) == ["a", "b"]
    assert titles.get("b") is None


def test_an_unreadable_address_of_a_store_is_an_error_of_the_checks(settings: Any) -> None:
    settings.QUEUEOPS = {**settings.QUEUEOPS, "STORES": {"eu": {"URL": "redis://h:port"}}}
    (message,) = check_environment()
    assert message.id == "queueops.E004"
    assert "QUEUEOPS['STORES']['eu']" in str(message.hint)


@pytest.mark.django_db
def test_a_process_of_the_last_version_still_writes_rows_during_a_deploy() -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {ErrorTriage._meta.db_table} (fingerprint, assignee, note) VALUES ('f1', '', '')")
    assert ErrorTriage.objects.get().fingerprint == "f1"
