"""A round of the relay: the lanes that it finds."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from queueops.contrib.outbox import relaying
from queueops.contrib.outbox.models import OutboxRow
from queueops.contrib.outbox.relay import Turn
from queueops.errors import StoreFull


@pytest.mark.django_db
def test_a_round_finds_each_lane_by_the_index_however_many_rows_wait() -> None:
    places = [(pool, lane) for pool in ("default", "mail") for lane in ("a", "b")]
    for pool, lane in places * 3:
        OutboxRow.objects.create(form="x", pool=pool, lane=lane, push_id="i", name="n", body="", created=timezone.now())
    OutboxRow.objects.create(
        form="x", pool="dead", lane="a", push_id="i", name="n", body="", created=timezone.now(), dead=True
    )
    with CaptureQueriesContext(connection) as asked:
        assert list(relaying._lanes("default")) == places
    queries = [query["sql"] for query in asked]
    assert all("LIMIT 1" in query for query in queries), queries
    with connection.cursor() as cursor:
        plans = [str(cursor.execute(f"EXPLAIN QUERY PLAN {query}").fetchall()) for query in queries]
    assert all("queueops_outbox_lane" in plan and "TEMP B-TREE" not in plan for plan in plans), plans
    assert all(">?" in plan for plan in plans[1:]), plans


@pytest.mark.django_db
def test_many_lanes_that_cannot_be_sent_hold_back_no_lane_behind_them(monkeypatch: pytest.MonkeyPatch) -> None:
    places = [*(("full", f"lane-{number:03}") for number in range(600)), ("mail", "a")]
    OutboxRow.objects.bulk_create(
        OutboxRow(form="x", pool=pool, lane=lane, push_id="i", name="n", body="", created=timezone.now())
        for pool, lane in places
    )
    turns = []

    def take_turn(broker: object, name: str, pool: str, lane: str) -> Turn:
        turns.append((pool, lane))
        return Turn(outage=StoreFull(reason="full")) if pool == "full" else Turn()

    monkeypatch.setattr(relaying, "take_turn", take_turn)
    relaying.relay_all()
    assert turns == places
