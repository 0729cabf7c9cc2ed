"""The rows that a browser shows, as it sends them back: short enough for a URL, and read without trust."""

from __future__ import annotations

from msgspec.structs import replace

from console.ui import live_list
from console.ui.live_list import MOST_TEXT, Place
from queueops.inspect import TaskQuery
from tests.console.standin import World


def test_places_are_sent_and_read(world: World) -> None:
    rows = [replace(world.row("task-1"), id=id, pool=pool) for pool, id in (("a", "1"), ("a", "x/2"), ("b", "1"))]
    lines = live_list.first(rows)
    assert lines.places == "a 1, x/2,b 1"
    assert live_list.read(lines.places) == [line.place for line in lines.lines]


def test_what_does_not_fit_into_a_url_is_sent_as_a_key_and_left_as_it_is(world: World) -> None:
    rows = [replace(world.row("task-1"), id=f"{number:03}" + "/" * 197) for number in range(50)]
    lines = live_list.first(rows)
    places = live_list.read(lines.places)
    assert len(lines.places) < MOST_TEXT
    assert [place.key for place in places] == [line.key for line in lines.lines]
    assert [bool(place.id) for place in places] == [True] * 4 + [False] * 46
    again = live_list.again([], places, {}, TaskQuery(), 0)
    assert [line.unknown for line in again.lines] == [True] * 50
    assert again.changed == 0
    assert again.places == lines.places


def test_an_id_that_the_engine_does_not_give_is_sent_as_a_key(world: World) -> None:
    (line,) = live_list.first([replace(world.row("task-1"), id="<b>, x")]).lines
    assert line.place == Place(live_list.short("default <b>, x"))


def test_places_that_no_page_has_written_are_left_out() -> None:
    assert live_list.read("x, #,a b c,~,~<b>,\x00 y,,") == []
    assert len(live_list.read(",".join("a 1" for _ in range(900)))) == 200
