"""Saved views: own and shared filters of the task list, with counts in the navigation."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from playwright.sync_api import expect

from console.models import AuditEntry, SavedView
from console.pages import views
from queueops.redis.broker import get_broker
from tests.console.browsing import Open
from tests.console.standin import World
from tests.console.test_accessibility import broken
from tests.kernel.desk import Desk
from tests.support.monitoring import counted_trips

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(namespace: str, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Three tasks of a customer."""
    monkeypatch.setattr(views, "COUNTED_EVERY_S", 0.0)
    made = Desk(get_broker())
    made.push("a", "b", "c", tags=("vip",))
    return made


def save(client: Client, name: str, query: str, **more: str) -> int:
    answer = client.post("/ops/views/_save", {"name": name, "query": query, "next": "/ops/tasks/", **more})
    return answer.status_code


def may_share(name: str = "operators") -> None:
    User.objects.get(username=name).user_permissions.add(Permission.objects.get(codename="share"))


def test_a_view_is_saved_of_the_filter_counted_renamed_and_deleted(desk: Desk, operator: Client) -> None:
    form = operator.get("/ops/tasks/?tag=vip").content.decode()
    assert '<input type="hidden" name="query" value="tag=vip">' in form
    assert save(operator, "Important", "tag=vip") == 302
    page = operator.get("/ops/workers/").content.decode()
    assert 'href="/ops/tasks/?tag=vip"' in page
    assert '<span>Important</span><span class="side-count">3</span>' in page
    view = SavedView.objects.get()
    operator.post(f"/ops/views/{view.pk}/_rename", {"name": "VIPs"})
    assert "VIPs" in operator.get("/ops/views/").content.decode()
    operator.post(f"/ops/views/{view.pk}/_delete")
    assert not SavedView.objects.exists()
    done = [(entry.verb, entry.target, entry.outcome) for entry in AuditEntry.objects.order_by("pk")]
    assert done == [
        ("save_view", "Important", "done"),
        ("rename_view", "VIPs", "done"),
        ("delete_view", "VIPs", "done"),
    ]


def test_all_counts_cost_one_reading_and_those_without_an_index_are_bounds(
    desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 600.0)  # a slow page reads no status of its own

    def trips() -> int:
        operator.get("/ops/settings/")
        with counted_trips() as counted:
            operator.get("/ops/settings/")
        return counted.made

    without = trips()
    for number in range(10):
        save(operator, f"view {number}", "tag=vip")
    save(operator, "two facets", "tag=vip&state=pending")
    save(operator, "one text", "contains=order")
    assert trips() - without <= 2  # the list of pools, which most pages read anyway, and all counts
    page = operator.get("/ops/settings/").content.decode()
    assert page.count('<span class="side-count">3</span>') == 11
    assert "<span>one text</span></a>" in page
    monkeypatch.setattr("queueops.inspect.counting.MOST", 2)
    monkeypatch.setattr("queueops.inspect.counting.LEAST", 2)
    desk.settle(desk.lease())
    desk.push("d", "e", tags=("vip",))
    save(operator, "none of the newest", "tag=vip&q=attempts>5")
    page = operator.get("/ops/settings/").content.decode()
    bound = '<span class="side-count" title="The newest 2 of 4 tasks were looked at.">≥ 2</span>'
    assert f"<span>two facets</span>{bound}" in page
    assert "<span>none of the newest</span></a>" in page


def test_a_shared_view_needs_a_permission_and_is_seen_by_all(desk: Desk, client_of: Callable[..., Client]) -> None:
    ada, bob = client_of("operators"), client_of("viewers")
    assert save(ada, "Ours", "state=failed", shared="1") == 403
    save(ada, "Mine", "state=failed")
    mine = SavedView.objects.get()
    assert "Mine" not in bob.get("/ops/views/").content.decode()
    assert bob.post(f"/ops/views/{mine.pk}/_delete").status_code == 404
    may_share()
    assert save(ada, "Ours", "state=failed", shared="1") == 302
    ours = SavedView.objects.get(name="Ours")
    assert "Ours" in bob.get("/ops/").content.decode()
    assert bob.post(f"/ops/views/{ours.pk}/_delete").status_code == 403
    assert bob.post(f"/ops/views/{ours.pk}/_rename", {"name": "x"}).status_code == 403
    may_share("viewers")
    assert bob.post(f"/ops/views/{ours.pk}/_delete").status_code == 302


def test_a_wrong_view_is_refused_with_the_reason(desk: Desk, operator: Client) -> None:
    assert save(operator, "x", "state=eroded") == 400
    for name in ("", "n" * 81):
        save(operator, name, "state=failed")
        assert "at most 80 characters" in operator.get("/ops/views/").content.decode()
    save(operator, "Twice", "state=failed")
    save(operator, "Twice", "state=pending")
    assert "You have a view Twice already" in operator.get("/ops/views/").content.decode()
    assert SavedView.objects.count() == 1
    SavedView.objects.update(query={"state": "of a later version"})
    assert 'href="/ops/tasks/"' in operator.get("/ops/views/").content.decode()


@pytest.mark.browser
def test_views_exports_and_palette_are_accessible_and_work_without_scripts(open_page: Open, world: World) -> None:
    page = open_page("tasks/?state=failed", java_script_enabled=False)
    page.locator("#save-view > summary").click()
    page.locator("#view-name").fill("Broken")
    page.locator("#save-view").get_by_role("button", name="Save").click()
    expect(page.get_by_role("navigation").get_by_role("link", name="Broken")).to_be_visible()
    page = open_page("views/")
    expect(page.get_by_role("heading", name="Views")).to_be_visible()
    assert broken(page) == []
    page.keyboard.press("Control+k")
    page.locator("#palette input[name=q]").fill("pause s")
    expect(page.locator("#palette").get_by_role("button", name="Pause slow")).to_be_visible()
    assert broken(page) == []
