"""The 19 behaviours that the tests of the first seed assert, and the tests of ours that assert each of them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.faults import test_mapreduce_limits as limits
from tests.mapreduce import test_behaviours as here
from tests.mapreduce import test_cancel as cancel
from tests.mapreduce import test_unserved as unserved
from tests.support.for_each import for_each

Test = Callable[..., Any]

BEHAVIOURS: dict[str, tuple[Test, ...]] = {
    "chunks are balanced between instances": (
        limits.test_chunks_are_balanced_between_workers_by_how_many_each_may_have,
    ),
    "map, process and reduce get the right data": (here.test_map_process_and_reduce_get_the_right_data,),
    "a broken chunk is removed, the reduce gets the others": (
        here.test_a_broken_chunk_is_dropped_and_the_others_go_on,
    ),
    "an errored map is restarted": (here.test_a_map_that_failed_once_comes_back,),
    "an errored reduce is restarted": (here.test_a_reduce_that_failed_once_comes_back,),
    "an errored process is restarted": (here.test_a_chunk_that_failed_once_comes_back,),
    "a suspended map is restarted": (
        here.test_a_map_whose_worker_froze_comes_back,
        limits.test_a_map_a_chunk_and_a_reduce_that_hang_once_are_interrupted_and_come_back,
    ),
    "a suspended reduce is restarted": (
        here.test_a_reduce_whose_worker_froze_comes_back,
        limits.test_a_map_a_chunk_and_a_reduce_that_hang_once_are_interrupted_and_come_back,
    ),
    "a suspended process is restarted": (
        here.test_a_chunk_whose_worker_froze_comes_back,
        limits.test_a_map_a_chunk_and_a_reduce_that_hang_once_are_interrupted_and_come_back,
    ),
    "a cancelled task runs no second chunk and no reduce": (
        here.test_a_cancelled_task_runs_no_second_chunk_and_no_reduce,
        cancel.test_a_class_cancels_its_tasks_by_id_in_whichever_pool_they_are,
    ),
    "the status tells the state, and the counts of chunks": (
        here.test_the_status_tells_the_stage_and_counts_the_chunks,
    ),
    "the status of what is not there is none": (here.test_there_is_no_status_of_a_task_that_is_not_there,),
    "the id is that of the class": (here.test_the_handle_has_the_id_that_the_class_or_chance_gives,),
    "postpone without data, by the delay of the class": (
        here.test_what_is_postponed_runs_without_data_when_its_time_has_come,
    ),
    "postpone with a delay": (here.test_what_is_postponed_is_due_after_its_delay,),
    "postpone with data": (here.test_what_is_postponed_gets_its_data,),
    "a map and a reduce get another deadline": (limits.test_a_map_a_chunk_or_a_reduce_that_asks_for_more_time_gets_it,),
    "a chunk gets another deadline": (limits.test_a_map_a_chunk_or_a_reduce_that_asks_for_more_time_gets_it,),
    "tasks of removed classes are collected": (
        unserved.test_a_task_that_nobody_knows_is_found_in_quarantine_and_collected,
        unserved.test_chunks_that_nobody_knows_fail_their_task_which_is_collected_with_all_of_them,
    ),
}


def asserts(test: Test) -> int:
    """How many things a test asserts."""
    tree = ast.parse(inspect.getsource(test))
    return sum(isinstance(node, ast.Assert) for node in ast.walk(tree))


def test_there_are_as_many_as_in_the_seed() -> None:
    assert len(BEHAVIOURS) == 19


@for_each("behaviour", BEHAVIOURS)
def test_each_has_a_test_that_runs_and_asserts(behaviour: str) -> None:
    for test in BEHAVIOURS[behaviour]:
        module: ModuleType | None = inspect.getmodule(test)
        assert module is not None
        assert getattr(module, test.__name__) is test, "no later test of the module has its name"
        assert asserts(test) > 0
        assert not any(mark.name in ("skip", "skipif", "xfail") for mark in getattr(test, "pytestmark", []))
