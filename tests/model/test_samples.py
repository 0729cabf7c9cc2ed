from __future__ import annotations

import json

from queueops.model.samples import counted, recent, recent_ms, sample_of

TURN = 7 * 60_000


def written(taken: int, **parts: dict[str, int]) -> str:
    return json.dumps({"taken": taken, "minute": {"ok|add": 5}, "before": {"ok|add": 9, "ms|add": 0}} | parts)


def test_counters_are_summed_over_both_minutes() -> None:
    found = sample_of(written(TURN + 30_000, before={"ok|add": 9, "ok|mul": 1, "ms|add": 0}))
    assert counted(found, "ok") == {"add": 14, "mul": 1}
    assert counted(found, "ms") == counted(found, "err") == {}
    counted(found, "ok").clear()
    assert counted(found, "ok") == {"add": 14, "mul": 1}


def test_recent_counters_begin_at_the_mark_also_in_the_minute_before() -> None:
    mark = {"ok|add": 2, "ok|mul": 1}
    now = sample_of(written(TURN + 30_000, mark=mark | {"@": TURN + 15_000}))
    assert (recent(now, "ok"), recent_ms(now)) == ({"add": 3}, 15_000)
    turned = sample_of(written(TURN + 5_000, mark=mark | {"@": TURN - 10_000}))
    assert (recent(turned, "ok"), recent_ms(turned)) == ({"add": 12}, 15_000)
    unmarked = sample_of('{"taken": 1, "minute": [], "mark": []}')
    assert (recent(unmarked, "ok"), recent_ms(unmarked), counted(unmarked, "ok")) == ({}, 0, {})
