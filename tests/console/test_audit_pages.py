"""What the page of an audit entry tells: what was before, and what came of it."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory

from console.audit.log import address_of, recorded
from console.models import AuditEntry
from queueops.errors import BadArguments
from tests.console.standin import World
from tests.support.for_each import for_each

pytestmark = pytest.mark.django_db
EDIT = {"pool": "default", "args": '[1, "a"]', "kwargs": '{"token": "hunter2", "coins": 3}'}


def told(client: Client, verb: str) -> str:
    """The text of the page of the newest entry of this verb."""
    entry = AuditEntry.objects.filter(verb=verb).latest("pk")
    page = client.get(f"/ops/audit/{entry.pk}/").content.decode()
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", page.split("<main")[1].split("</main>")[0])).split())


def test_an_error_of_the_engine_is_kept_without_its_secrets(rf: RequestFactory) -> None:
    request = rf.post("/")
    request.user = User.objects.create_user("ada")
    error = BadArguments(name="demo.task", reason="'redis://u:hunter2@h' is not a number.")
    with pytest.raises(BadArguments), recorded(request, "edit", "task-1"):
        raise error
    entry = AuditEntry.objects.get()
    assert entry.outcome == "failed"
    assert "'redis://u:***@h' is not a number." in entry.detail


def test_a_pause_and_its_undoing_tell_what_was_set(world: World, administrator: Client) -> None:
    administrator.post("/ops/lanes/default/default/_pause")
    assert "Paused no yes" in told(administrator, "pause")
    administrator.post(f"/ops/audit/{AuditEntry.objects.get().pk}/_undo")
    assert "Paused yes no" in told(administrator, "undo pause")


def test_a_lane_that_was_set_tells_its_limits(world: World, administrator: Client) -> None:
    administrator.post("/ops/lanes/default/slow/_set", {"limit": "", "weight": "5"})
    text = told(administrator, "set_lane")
    assert "Limit 2 none" in text
    assert "Weight 3 5" in text


def test_a_worker_that_was_told_to_be_quiet_tells_what_it_was(world: World, administrator: Client) -> None:
    administrator.post("/ops/workers/host:1/_quiet", {"confirmed": "1"})
    assert "State live –" in told(administrator, "quiet")


def test_an_act_on_chunks_tells_which(world: World, operator: Client) -> None:
    operator.post("/ops/mapreduce/count-1/_retry", {"pool": "default", "chunk": ["6"]})
    assert "Chunks 6 –" in told(operator, "retry_chunks")


def test_an_edit_tells_the_arguments_before_and_after_with_nothing_secret(world: World, operator: Client) -> None:
    operator.post("/ops/tasks/task-1/_edit", EDIT)
    text = told(operator, "edit")
    assert "failed" in text  # the state before
    dense = text.replace(" ", "")
    assert 'Argumentsbefore[["demo.task",1],{"key":true}]' in dense
    assert 'Argumentsafter[[1,"a"],{"token":"[redacted]","coins":3}]' in dense


def test_arguments_are_for_those_who_may_see_them(world: World, operator: Client, viewer: Client) -> None:
    operator.post("/ops/tasks/task-1/_edit", EDIT)
    assert "Arguments" not in told(viewer, "edit")


def test_a_refused_edit_keeps_the_text_shows_why_and_is_recorded(world: World, operator: Client) -> None:
    world.broken = BadArguments(name="demo.task", reason="coins: Expected `str`, got `int`.")
    answer = operator.post("/ops/tasks/task-1/_edit", EDIT)
    page = html.unescape(answer.content.decode())
    assert answer.status_code == 422
    assert "coins: Expected `str`, got `int`." in page
    assert re.search(r'name="kwargs"[^>]*aria-invalid="true"', page)
    assert EDIT["args"] in page
    assert EDIT["kwargs"] in page
    assert "Arguments that were refused [ [ 1 ," in told(operator, "edit")


def test_a_refused_edit_of_a_chunk_keeps_its_text_too(world: World, operator: Client) -> None:
    world.broken = BadArguments(name="demo.task", reason="it is too large.")
    answer = operator.post("/ops/mapreduce/count-1/6/_edit", {"data": '{"token": "hunter2"}'})
    page = html.unescape(answer.content.decode())
    assert answer.status_code == 422
    assert "it is too large." in page
    assert '{"token": "hunter2"}' in page
    assert "Data that was refused" in told(operator, "edit_chunks")


@for_each(
    ("given", "kept"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8::1", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("192.0.2.7:8080", None),
        ("unix:", None),
        ("", None),
    ],
)
def test_what_is_no_address_is_not_written_for_one(given: str, kept: str | None) -> None:
    """PostgreSQL would refuse it, and with it every action behind such a server."""
    assert address_of(RequestFactory().get("/", REMOTE_ADDR=given)) == kept


@pytest.mark.parametrize("aware", [True, False])
def test_times_are_those_of_the_user_s_zone_also_without_use_tz(
    aware: bool, administrator: Client, world: World, settings: Any
) -> None:
    settings.TIME_ZONE, settings.USE_TZ = "America/New_York", aware
    administrator.cookies.load({"queueops_zone": "Asia/Tokyo"})
    entry = AuditEntry.objects.create(actor_name="ada", verb="retry", target="x")
    moment = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
    local = moment if aware else moment.astimezone(ZoneInfo("America/New_York")).replace(tzinfo=None)
    AuditEntry.objects.filter(pk=entry.pk).update(at=local)
    assert "2026-01-31 21:00:00 JST" in administrator.get(f"/ops/audit/{entry.pk}/").content.decode()
    assert "2026-01-31 21:00:00" in administrator.get("/ops/audit/").content.decode()
    for until, is_found in (("21:00", True), ("20:59", False)):
        page = administrator.get("/ops/audit/", {"until": f"2026-01-31T{until}"}).content.decode()
        assert ("2026-01-31 21:00:00" in page) == is_found


def test_all_parts_of_an_action_are_found_from_it(administrator: Client, world: World) -> None:
    filter_ = {"state": "failed"}
    whole = AuditEntry.objects.create(actor_name="ada", verb="retry", target="x", filter=filter_, count=23, seen=23)
    parts = [AuditEntry.objects.create(actor_name="ada", verb="retry", target="1", part_of=whole) for _ in range(23)]
    found, link = [], f"/ops/audit/{whole.pk}/"
    while link:
        page = administrator.get(link).content.decode()
        found += re.findall(r'id="a-(\d+)"', page)
        older = re.search(r'rel="next" href="(\?before=\d+)"', page)
        link = f"/ops/audit/{whole.pk}/{older[1]}" if older else ""
    assert found == [str(part.pk) for part in reversed(parts)]


def test_entries_up_to_a_minute_are_found_page_by_page(administrator: Client, settings: Any) -> None:
    for minute in range(60):
        entry = AuditEntry.objects.create(actor_name="ada", verb="retry", target="x")
        AuditEntry.objects.filter(pk=entry.pk).update(at=datetime(2026, 1, 31, 18, minute, 59, tzinfo=UTC))
    until = {"until": "2026-01-31T18:57", "actor_name": "ada"}
    page = administrator.get("/ops/audit/", until).content.decode()
    shown = re.findall(r'id="a-(\d+)"', page)
    assert len(shown) == 50
    assert AuditEntry.objects.get(pk=shown[0]).at.minute == 57  # the minute itself is among them
    (older,) = map(html.unescape, re.findall(r'rel="next" href="([^"]+)"', page))
    page = administrator.get(older).content.decode()
    assert len(re.findall(r'id="a-(\d+)"', page)) == 8
    assert 'value="2026-01-31T18:57"' in page
    assert "until=2026-01-31T18%3A57" in html.unescape(page)  # "Newest" keeps the filter


@pytest.mark.parametrize(
    ("until", "latest"),
    [
        ("2026-10-25T01:59", "23:59:59"),
        ("2026-10-25T02:30", "01:30:59"),  # this minute comes twice: the second one
        ("2026-10-25T02:59", "01:59:59"),
        ("2026-03-29T02:30", "01:30:59"),  # this one never comes
        ("2026-03-29T03:30", "01:30:59"),
    ],
)
def test_the_minute_is_found_where_clocks_change(administrator: Client, settings: Any, until: str, latest: str) -> None:
    administrator.cookies.load({"queueops_zone": "Europe/Berlin"})
    day = datetime.fromisoformat(f"{until[:10]}T00:00:00+00:00")
    moments = [day + timedelta(minutes=minute, seconds=-1) for minute in range(0, 240)]
    for at in moments:
        entry = AuditEntry.objects.create(actor_name="ada", verb="retry", target="x")
        AuditEntry.objects.filter(pk=entry.pk).update(at=at)
    page = administrator.get("/ops/audit/", {"until": until}).content.decode()
    newest = AuditEntry.objects.get(pk=re.findall(r'id="a-(\d+)"', page)[0])
    assert f"{newest.at:%H:%M:%S}" == latest


@for_each(
    "text",
    [
        "yesterday",
        "2026-02-31T10:00",
        "2026-01-31",
        "2026-01-31T18:57+09:00",
        "2026-01-31T18:57:30",
        "1969-12-31T23:59",
        "9999-12-31T23:59",
        "<b>",
    ],
)
def test_what_is_no_time_is_told(administrator: Client, text: str) -> None:
    AuditEntry.objects.create(actor_name="ada", verb="retry", target="x")
    answer = administrator.get("/ops/audit/", {"until": text})
    assert answer.status_code == 400
    page = html.unescape(answer.content.decode())
    assert f"{text} is no time. Write it as 2026-01-31T18:30." in page
    assert 'id="a-' not in page
    assert "Nothing was searched." in page


def test_the_list_has_reasons_and_links_to_what_was_acted_on_by_name(
    world: World, operator: Client, viewer: Client
) -> None:
    world.text = "demo.task"
    operator.post("/ops/tasks/task-1/_interrupt", {"pool": "default", "confirmed": "1", "reason": "it hangs"})
    for verb, target, before in (
        ("pause", "default/slow", {"pool": "default", "lane": "slow"}),
        ("quiet", "host:1", {}),
        ("pause_name", "demo.task", {"name": "demo.task"}),
        ("note_error", "ValueError (f00)", {}),
        ("quiet", "<b>\n", {}),
    ):
        AuditEntry.objects.create(actor_name="x", verb=verb, target=target, before=before)
    page = operator.get("/ops/audit/").content.decode()
    assert "it hangs" in page
    assert "it hangs" not in viewer.get("/ops/audit/").content.decode()
    assert '<a href="/ops/tasks/task-1/?pool=default">demo.task</a>' in page
    for address in ("lanes/default/slow/", "workers/host:1/", "registry/demo.task/", "errors/f00/"):
        assert f'<a href="/ops/{address}">' in page
