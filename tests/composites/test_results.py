"""Results of composites whose parts are in several pools."""

from __future__ import annotations

from datetime import timedelta

from queueops import chain, get, group
from queueops.testing import run_worker
from tests.support.results_for_tests import DAY, next_day, unannotated

NEXT = DAY + timedelta(days=1)


def test_each_part_of_the_result_is_converted_whichever_pool_its_task_is_in(namespace: str) -> None:
    north, south = next_day.using(pool="north"), unannotated.using(pool="south")
    handle = group(
        chain(next_day.s(DAY), north.s()),
        chain(north.s(DAY), group(south.s(), north.s()).using(pool="south")),
        south.s(DAY),
    ).push()
    run_worker()
    expected = [NEXT + timedelta(days=1), [NEXT.isoformat(), NEXT + timedelta(days=1)], DAY.isoformat()]
    assert handle.result(timeout=60) == expected
    found = get(handle.id)
    assert found is not None
    assert found.result(timeout=60) == expected
