"""Limits of chunks in the console: the page of a task and of a name tell which chunks wait for which key."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from queueops.redis.broker import get_broker
from tests.mapreduce.bench import ChunkDesk
from tests.mapreduce.test_limits import gather, keyed

pytestmark = pytest.mark.django_db


def words(client: Client, place: str) -> str:
    """What a reader of a page sees."""
    page = client.get(place).content.decode().replace("<wbr>", "")
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", page)).split())


def test_chunks_that_wait_for_a_key_are_told_with_what_has_its_turns(namespace: str, viewer: Client) -> None:
    desk = ChunkDesk(get_broker())
    both = keyed(1, "user_id=7", rate="0.166666667")
    gather(desk, 3, m=both, n=both)
    (lease,) = desk.claim(9)
    other = "n" if lease.id[0] == "m" else "m"
    assert "limit 1, rate 10/m of user_id=7" in words(viewer, f"/ops/mapreduce/{other}/")
    assert f"3 chunks wait for their key user_id=7: 1 of 1 run ({lease.id})." in words(
        viewer, f"/ops/tasks/{other}/why/"
    )
    name = viewer.get("/ops/registry/tests.count/").content.decode()
    assert "5 chunks of 2 tasks wait" in name
    assert f'href="/ops/tasks/{other}/?pool=default"' in name
    get_broker().sample(desk.pool)
    for place in ("/ops/", "/ops/lanes/"):
        assert words(viewer, place).count("waits for its limit") == 2, place


def test_the_limit_of_all_tasks_of_a_class_is_told(namespace: str, viewer: Client) -> None:
    gather(ChunkDesk(get_broker()), 2, m=keyed(3, "*"))
    assert "limit 3 of all its tasks" in words(viewer, "/ops/mapreduce/m/")
