"""Names, figures and tables fit into a page: on a screen of 1,280 px, and on a phone."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from console.ui.break_points import breakable
from queueops import inspect
from queueops.inspect import LanePage, LaneRow
from tests.console.browsing import Open
from tests.console.standin import World

SCREEN = {"width": 1280, "height": 900}
WIDER = """() => [...document.querySelectorAll("main .scroll")]
    .filter((part) => part.scrollWidth > part.clientWidth + 1).map((part) => part.id)"""
BROKEN = """() => {
  const range = document.createRange(), found = [];
  for (const name of document.querySelectorAll("main tbody th a")) {
    for (const node of name.childNodes) if (node.nodeType === Node.TEXT_NODE) {
      range.selectNodeContents(node);
      const lines = new Set([...range.getClientRects()].map((box) => box.top)).size;
      if (/^\\S+$/.test(node.data) && lines > 1) found.push(node.data);
    }
  }
  return found;
}"""
"""Words of names that stand in two lines."""


def test_a_name_wraps_at_its_signs_and_is_escaped() -> None:
    assert breakable("to:shop.invalid:34139") == "to:<wbr>shop.<wbr>invalid:<wbr>34139"
    assert breakable("a-b/c_d#e@f") == "a-b/<wbr>c_<wbr>d#<wbr>e@<wbr>f"  # browsers break at a hyphen by themselves
    assert breakable("<b>&amp; x. y :z") == "&lt;b&gt;&amp;amp; x. y :z"


@pytest.mark.browser
@pytest.mark.django_db
def test_tables_of_workers_and_lanes_fit_into_a_screen(
    open_page: Open, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("to:shop.invalid:34139", "aggr:books.example", "tenant-17", "thumbnails")
    rows = tuple(
        LaneRow(pool="default", lane=name, ready=46, active=1, limit=2, oldest_ms=world.now - 805_000) for name in names
    )
    snapshot = replace(world.snapshot(), lanes=rows, chunk_lanes=())
    monkeypatch.setattr(inspect, "snapshot", lambda _age: snapshot)
    monkeypatch.setattr(inspect, "lane_page", lambda **_: LanePage(rows=rows))
    (worker,) = world.workers()
    task = replace(worker.running[0], name="demo.check_login_page")
    known = {"host": "vm", "pid": 27929, "version": "0.1.0", "pools": ("default",), "running": (task,) * 4}
    facts = (("serves", "jobs and callbacks"), ("disk", "27 % full"))
    workers = inspect.Listing([replace(worker, id="vm:21039:1:f811ba", facts=facts, **known)])
    monkeypatch.setattr(inspect, "workers", lambda: workers)
    page = open_page("", viewport=SCREEN)
    assert page.locator("#lanes-scroll tbody .under").count() == 0  # a single pool goes without saying
    pools = (*snapshot.pools, replace(snapshot.pools[0], name="gpu"))
    monkeypatch.setattr(inspect, "snapshot", lambda _age: replace(snapshot, pools=pools))
    page.goto("/ops/")
    assert (page.evaluate(WIDER), page.evaluate(BROKEN)) == ([], [])
    assert page.locator("#lanes-scroll tbody .under").all_inner_texts() == ["default"] * 4
    for path in ("", "lanes/", "workers/"):
        page.goto(f"/ops/{path}")
        assert (path, page.evaluate(WIDER), page.evaluate(BROKEN)) == (path, [], [])
    assert "started" in page.locator("#workers tbody th").first.inner_text()


@pytest.mark.browser
@pytest.mark.django_db
def test_the_table_of_runs_fits_into_a_screen(open_page: Open, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    (run,) = inspect.workflow_runs().rows
    id, type = "01M8EKDBRQ8RMMHFBT0NWC93DE", "queueops.errors.workflows.ActivityFailed"
    known = {"id": id, "instance": id, "name": "parcels.tasks.file_reader", "blocked_ms": None}
    known |= {"status": '{ "reads": "/tmp/a-long-name-of-a-file.txt" }', "waits_for": ()}
    failed = replace(run, state="failed", error=f"{type}: The activity parcels.tasks.flaky ({id}.1) failed", **known)
    blocked = replace(run, blocked_ms=world.now, reason=f"{type}: the code differs", after=id)
    monkeypatch.setattr(inspect, "workflow_runs", lambda *_, **__: inspect.RunPage(rows=(failed, blocked), total=2))
    page = open_page("workflows/", viewport=SCREEN)
    assert (page.evaluate(WIDER), page.evaluate(BROKEN)) == ([], [])
    assert page.locator("#workflows tbody tr").count() == 2


@pytest.mark.browser
@pytest.mark.django_db
def test_the_name_of_a_pool_is_in_one_line_on_a_phone(open_page: Open) -> None:
    for language in ("en", "de"):  # German heads are wider
        page = open_page("", viewport={"width": 360, "height": 740}, locale=language)
        assert page.locator("#pools-scroll tbody th a").inner_text() == "default"
        assert "default" not in page.evaluate(BROKEN)
        assert page.locator("#pools-scroll").evaluate("each => each.scrollWidth - each.clientWidth") == 0, language


@pytest.mark.browser
@pytest.mark.django_db
def test_the_settings_of_a_row_begin_at_the_same_height(open_page: Open) -> None:
    page = open_page("settings/", viewport=SCREEN)
    tops: list[Any] = page.locator(".settings-grid :is(legend, .form-label)").evaluate_all(
        "all => all.map(each => Math.round(each.getBoundingClientRect().top))"
    )
    assert len(tops) == 5
    assert max(tops[:3]) - min(tops[:3]) <= 2
    assert max(tops[3:]) - min(tops[3:]) <= 2


@pytest.mark.browser
@pytest.mark.django_db
def test_a_traceback_wraps_and_is_not_cut_off_on_a_phone(open_page: Open, world: World) -> None:
    world.text = "the_file_of_a_name_that_is_longer_than_a_phone_is_wide_" * 2
    page = open_page("tasks/task-1/", viewport={"width": 360, "height": 740})
    parts = page.locator(".traceback").first
    assert parts.evaluate("part => [part.scrollWidth > part.clientWidth, part.innerText.length > 100]") == [False, True]


@pytest.mark.browser
@pytest.mark.django_db
def test_a_message_of_a_live_list_stands_apart_from_what_follows(open_page: Open) -> None:
    page = open_page("callbacks/", viewport=SCREEN)
    page.evaluate(
        """document.querySelector("#callbacks").insertAdjacentHTML("afterbegin", '<p class="flash" id="new">m</p>')"""
    )
    bottom, top = (
        page.locator(part).evaluate(f"part => part.getBoundingClientRect().{side}")
        for part, side in (("#callbacks > #new", "bottom"), ("#callbacks > .chips", "top"))
    )
    assert top - bottom >= 10
