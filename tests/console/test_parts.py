"""The parts that need no page: words, colours, the picture, names in addresses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles.finders import get_finder
from django.test import Client
from msgspec import structs

from console.access.converters import NameConverter
from console.access.permissions import TABLE
from console.checks import check_project
from console.diagram.layout import LAYOUTS, SPINE, WIDE, always
from console.diagram.machine import draw, draw_task
from console.diagram.strip import END, WIDTH, strip
from console.pages.overview.stats import figures
from console.templatetags.console import with_durations
from console.ui import formatting, json_text, state_badges, traceback
from console.ui.json_text import shown, split
from console.ui.links import alarm_url
from queueops.inspect import Alarm
from queueops.inspect.task_history import Moment
from queueops.model.retry import Retry
from queueops.model.states import table
from tests.console.standin import World
from tests.support.for_each import for_each

ROOT = Path(__file__).parents[2]
N = formatting.NARROW


@for_each(
    ("ms", "text"),
    [
        (None, "–"), (0, "0 ms"), (0.5, "0.5 ms"), (840, "840 ms"), (1200, "1.2 s"), (59_940, "59.9 s"),
        (60_000, "1 min"),
        (200_000, "3 min 20 s"), (7_500_000, "2 h 5 min"), (86_400_000, "1 d"), (97_200_000, "1 d 3 h"),
    ],
)  # fmt: skip
def test_durations_in_words(ms: float | None, text: str) -> None:
    assert formatting.span(ms).replace(N, " ") == text


@for_each(
    ("number", "text"),
    [
        (None, "–"), (0, "0"), (999, "999"), (9999, "9,999"), (12_345, "12.3k"), (999_499, "999k"),
        (1_234_567, "1.23M"), (5e9, "5G"),
    ],
)  # fmt: skip
def test_counts_in_few_letters(number: float | None, text: str) -> None:
    assert formatting.short(number).replace(N, " ") == text


def test_numbers_and_rates_and_shares() -> None:
    assert formatting.count(1_234_567) == "1,234,567"
    assert [formatting.rate(value) for value in (None, 0, 0.004, 0.02, 4.26, 123.4, 45_678)] == [
        "–",
        "0",
        "<0.01",
        "0.02",
        "4.3",
        "123",
        "45.7k",
    ]
    assert [formatting.percent(value) for value in (None, 0, 0.0004, 0.0123, 0.5, 1)] == [
        "–",
        "0%",
        "<0.1%",
        "1.2%",
        "50%",
        "100%",
    ]
    assert [formatting.size(value) for value in (None, 12, 203_000_000)] == ["–", f"12{N}B", f"203{N}MB"]
    assert formatting.seconds(2.5) == f"2.5{N}s"
    assert [formatting.about(value) for value in (None, 24.8, 535, 7300)] == ["–", f"24.8{N}s", f"9{N}min", f"2{N}h"]


def test_moments_relative_to_now() -> None:
    assert [formatting.ago(ms, 100_000) for ms in (100_000, 95_000, 110_500)] == ["now", f"5{N}s ago", f"in 10{N}s"]


@for_each("name", ["a", "a/b", "mail:42", ".", "..", "a/../b", "x" * 200])
def test_a_name_comes_back_from_its_address(name: str) -> None:
    segment = NameConverter().to_url(name)
    assert "/" not in segment
    assert segment not in (".", "..")
    assert NameConverter().to_python(segment) == name


@for_each("segment", ["<b>", "a b", "{x}", "x" * 201, "é", "!"])
def test_what_is_no_name_is_no_address(segment: str) -> None:
    with pytest.raises(ValueError, match="no name"):
        NameConverter().to_python(segment)


def test_every_state_has_a_look_of_its_own() -> None:
    assert set(state_badges.looks()) == set(table().states)
    icons = [look.icon for look in state_badges.looks().values()]
    assert len(set(icons)) == len(icons)
    css = (ROOT / "static/console/states.css").read_text()
    for theme in css.split('[data-bs-theme="dark"]')[:2]:
        colours = re.findall(r"--s-(\w+): (#\w+)", theme)
        assert {name for name, _ in colours} == {*table().states, "unknown"}
        assert len({colour for _, colour in colours}) == len(colours)
    assert state_badges.css_class("<b>") == "st-unknown"
    assert state_badges.look("<b>") == state_badges.UNKNOWN


def test_every_icon_is_in_the_sprite() -> None:
    known = set(re.findall(r'<symbol id="([\w-]+)"', (ROOT / "static/vendor/icons/icons.svg").read_text()))
    used = {look.icon for look in state_badges.looks().values()}
    python = [path for package in ("console", "queueops_demo") for path in (ROOT / package).rglob("*.py")]
    for path in [*(ROOT / "templates").rglob("*.html"), *python]:
        used |= set(re.findall(r'\{% icon "([\w-]+)"', path.read_text()))
    from console.actions.catalog import ACTIONS
    from console.templatetags.console import WORKER_ICONS
    from console.ui.render import NAVIGATION

    used |= (
        {action.icon for action in ACTIONS.values()}
        | {item[2] for group in NAVIGATION.values() for item in group}
        | set(WORKER_ICONS.values())
    )
    assert used - known == set()


def test_every_state_has_a_place_in_both_pictures_and_none_lies_on_another() -> None:
    for layout in LAYOUTS:
        assert set(layout.places) == set(table().states)
        places = list(layout.places.values())
        for index, (x, y) in enumerate(places):
            assert layout.box[0] / 2 <= x <= layout.width - layout.box[0] / 2
            for other_x, other_y in places[index + 1 :]:
                assert abs(x - other_x) >= layout.box[0] or abs(y - other_y) >= layout.box[1]


def test_the_picture_draws_the_spine_always_and_other_ways_with_their_traffic() -> None:
    drawn = always(WIDE)
    assert drawn <= table().flows
    assert drawn - SPINE
    quiet, narrow = draw({}, {})
    assert {(way.source, way.target) for way in quiet.ways} == drawn
    assert {(way.source, way.target) for way in narrow.ways} == SPINE
    busy, _narrow = draw({}, {"failed>pending": 0.5, "locked>nonsense": 3, "pending>pending": 1})
    assert {(way.source, way.target) for way in busy.ways} == drawn | {("failed", "pending")}


def test_the_picture_shows_every_state() -> None:
    assert {box.state for box in draw({"mapping": 2, "idle": 0}, {})[0].boxes} == set(table().states)


def test_a_tasks_own_picture_shows_where_it_was_and_is() -> None:
    task = World().task("task-1")
    assert task is not None
    picture = draw_task(task)[0]
    counts = {box.state: box.count for box in picture.boxes}
    assert (counts["pending"], counts["locked"], counts["failed"], counts["succeeded"]) == (1, 1, 1, 0)
    assert [box.state for box in picture.boxes if box.here] == ["failed"]


def test_a_strip_is_full_and_none_of_its_parts_vanishes() -> None:
    task = World().task("task-1")
    assert task is not None
    parts = strip(task, task.entered_ms)
    assert [part.state for part in parts] == ["pending", "locked", "failed"]
    assert sum(part.width for part in parts) == pytest.approx(WIDTH, abs=1)
    assert all(part.width >= 5 for part in parts)
    assert parts[-1].width == END


def test_the_present_state_of_a_strip_has_the_width_of_its_time() -> None:
    moments = (Moment(t=1000, state="", text="pushed"), Moment(t=2000, state="locked", text=""))
    task = structs.replace(World().task("task-1"), timeline=moments)
    assert [(part.state, part.width, part.ms) for part in strip(task, 5000)] == [
        ("pending", WIDTH / 4, 1000),
        ("locked", WIDTH * 3 / 4, None),
    ]
    lost = structs.replace(task, timeline=(*moments[:1], Moment(t=0, state="locked", text="")))  # no index has it
    assert strip(lost, 5000)[-1].width <= WIDTH / 2
    assert [ms for _moment, ms in with_durations(lost.timeline)] == [None, None]
    before = strip(task, 0)  # the clock of this host is late
    assert before[-1].width < before[0].width


def test_a_traceback_folds_the_frames_of_libraries_and_loses_nothing() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/app/shop/tasks.py", line 3, in run\n    parse(x)\n    ^^^^^^^^\n'
        '  File "/venv/lib/python3.12/site-packages/lib/a.py", line 1, in parse\n    one()\n'
        '  File "/usr/lib/python3.12/json/decoder.py", line 2, in one\n    two()\n'
        '  File "/app/shop/parse.py", line 9, in two\n    raise\n'
        "ValueError: bad"
    )
    groups = traceback.grouped(text)
    assert [group.frames for group in groups] == [0, 2, 0]
    assert "\n".join(group.text for group in groups) == text
    assert traceback.grouped("") == []


def test_coloured_json_is_the_same_text() -> None:
    text = '{"a": [1, -2.5e3, true, null], "b<": "x\\"y"} nonsense <b>'
    page = str(json_text.coloured(text))
    plain = re.sub(r"</?span[^>]*>", "", page)
    for entity, letter in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#x27;", "'"), ("&amp;", "&")):
        plain = plain.replace(entity, letter)
    assert plain == text
    assert '<span class="json-key">&quot;a&quot;</span>' in page
    assert len(str(json_text.coloured("x" * 10**6))) < 200_000


def test_arguments_are_taken_apart() -> None:
    assert split('[[1], {"a": 2}]') == ("[\n  1\n]", '{\n  "a": 2\n}')
    assert split("nonsense") == ("nonsense", "{}")
    assert shown("[[], {}]") == []
    assert shown('[[], {"a": 1}]') == [("named", '{\n  "a": 1\n}')]


def test_the_figures_add_up_what_adds_up_and_take_the_worst_of_the_rest() -> None:
    import msgspec

    snapshot = World().snapshot()
    (pool,) = snapshot.pools
    worse = msgspec.structs.replace(pool, wait_p95_ms=99.0, drain_s=None, drain_reason="paused", failure_rate=0.3)
    both = figures(msgspec.structs.replace(snapshot, pools=(pool, worse)))
    assert (both.in_rate, both.fails, both.wait_p95_ms, both.drain_s) == (25.0, False, 99.0, None)
    assert both.failure_rate == pytest.approx(0.2)
    assert (both.drain_never, both.drain_reason) == (True, "paused")
    small = msgspec.structs.replace(worse, attempts=0)
    assert figures(msgspec.structs.replace(snapshot, pools=(pool, small))).failure_rate == pytest.approx(0.1)
    assert figures(msgspec.structs.replace(snapshot, pools=())).drain_s == 0


def test_a_pool_whose_attempts_all_fail_and_end_no_task_is_failing() -> None:
    import msgspec

    snapshot = World().snapshot()
    retrying = msgspec.structs.replace(snapshot.pools[0], out_rate=0.0, failure_rate=1.0, attempts=3)
    assert figures(msgspec.structs.replace(snapshot, pools=(retrying,))).failure_rate == 1.0


def test_what_is_begun_within_seconds_is_no_backlog() -> None:
    import msgspec

    snapshot = World().snapshot()
    for drain_s, keeps_up in ((5.0, True), (5.1, False), (0.0, False), (None, False)):
        now = msgspec.structs.replace(snapshot.pools[0], drain_s=drain_s)
        assert figures(msgspec.structs.replace(snapshot, pools=(now,))).keeps_up == keeps_up


def test_when_the_next_attempt_comes_is_told_in_words() -> None:
    told = formatting.retry_policy(Retry(delay=5, backoff=2, max_delay=60, jitter=0.1).explicit())
    assert told.replace(N, " ") == "after 5 s, then × 2, at most 1 min, ± 10%"
    linear = formatting.retry_policy(Retry(delay=120, growth="linear", max_delay=3600, jitter=0).explicit())
    assert linear.replace(N, " ") == "after 2 min × attempt, at most 1 h, ± 0%"
    for text in ("", "nonsense", "5:2", "-1:2:3:4", "<b>"):
        assert formatting.retry_policy(text) == text


def test_what_a_deed_does_is_told_before_it() -> None:
    from console.actions.catalog import ACTIONS

    assert [verb for verb, action in ACTIONS.items() if not action.note] == []


def test_every_deed_has_its_permission() -> None:
    from console.actions.catalog import ACTIONS
    from queueops.control.verbs import BULK

    assert all(f"task-{verb}" in TABLE for verb in ACTIONS)
    assert all(f"tasks-{verb}" in TABLE for verb in BULK)


def test_every_file_of_the_browser_is_small() -> None:
    assert len((ROOT / "static/console/ops.js").read_text().splitlines()) < 90
    assert not re.search(r"\beval\b|new Function|innerHTML|document\.write|insertAdjacentHTML", "".join(
        path.read_text() for path in (ROOT / "static/console").glob("*.js")
    ))  # fmt: skip


def test_a_project_that_lacks_something_is_told_before_the_first_page_fails(settings: Any) -> None:
    assert check_project() == []
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "messages" not in name]
    (warning,) = check_project()
    assert warning.id == "queueops_console.W001"
    assert "MessageMiddleware" in str(warning.msg)
    settings.INSTALLED_APPS = [name for name in settings.INSTALLED_APPS if name != "django.contrib.messages"]
    assert [message.id for message in check_project()] == ["queueops_console.E001", "queueops_console.W001"]
    settings.INSTALLED_APPS = [name for name in settings.INSTALLED_APPS if name != "queueops"]
    assert check_project()[0].msg == "The console needs 'queueops' in INSTALLED_APPS."


def test_templates_and_static_files_that_are_not_found_are_told_with_what_to_write(settings: Any) -> None:
    """So it is in a project that installs the repository with `pip install -e`."""
    settings.TEMPLATES = [settings.TEMPLATES[0] | {"DIRS": []}]
    settings.STATICFILES_DIRS = []
    get_finder.cache_clear()
    try:
        templates, static = check_project()
    finally:
        get_finder.cache_clear()
    assert (templates.id, static.id) == ("queueops_console.E002", "queueops_console.E003")
    assert re.match(r'Write in TEMPLATES: \'DIRS\': \["/.*/templates"\] - or install a wheel', str(templates.hint))
    assert re.match(r'Write: STATICFILES_DIRS = \["/.*/static"\] - or install a wheel', str(static.hint))


def test_an_alarm_leads_to_a_page_of_the_console_or_nowhere() -> None:
    hints = ["workers", "tasks/?state=pending&pool=a b<", "health", "", "https://evil.example/", "//evil", "../admin"]
    addresses = [alarm_url(Alarm(level="warning", text="x", url_hint=hint)) for hint in hints]
    assert addresses == ["/ops/workers/", "/ops/tasks/?state=pending&pool=a+b%3C", "", "", "", "", ""]


@pytest.mark.django_db
def test_who_may_not_set_a_lane_reads_its_limits_in_words(world: World, viewer: Client) -> None:
    page = viewer.get("/ops/lanes/").content.decode()
    assert re.findall(r'data-label="Limits">([^<]+)<', page) == ["no limit", "2 at once, weight 3"]
