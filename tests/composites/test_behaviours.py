"""The 71 behaviours that seed 1's own tests assert, and the tests of ours that assert as much or more.

Each behaviour has one test, or several that assert it together; of these the first one stands for it alone.

Where ours is another on purpose: of what is cancelled the whole is told first, then its parts; a part can be cancelled
by itself and counts as failed; retries are the attempts after the first; a task of an unknown class is found.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tests.support.for_each import for_each

TESTS = Path(__file__).parents[1]
HERE, API, MEET = "composites", "composites/test_api", "composites/test_as_users_meet_them"
RUNNING, STREAMS, WEIGHTS = "faults/test_running", "results/test_events", "composites/test_weights"
CHAIN, GROUP, ITERATOR = "composites/test_chain", "composites/test_group", "composites/test_iterator"
EARLY, EVENTS, LOST = "composites/test_ending_early", "composites/test_events", "composites/test_lost"

Place = tuple[str, str]
"""A file, and the name of a test in it."""

BEHAVIOURS: dict[str, Place | tuple[Place, ...]] = {
    # Chains
    "chain: children run in order": (CHAIN, "the_tasks_of_a_chain_come_one_after_the_other"),
    "chain: data is passed, whatever its value": (CHAIN, "a_result_is_passed_on_whatever_its_value"),
    "chain: progress": (CHAIN, "progress_of_the_root_counts_leaves"),
    "chain: an error of a task ends it": (CHAIN, "a_task_that_fails_for_good_ends_its_chain_and_the_rest_is_cancelled"),
    "chain: a group's result goes to the next": (CHAIN, "a_result_of_a_group_and_of_a_chain_within_is_passed_on"),
    "chain: no children": (API, "what_is_wrong_is_said_at_the_push_and_nothing_is_written"),
    "chain: init": (API, "a_template_computes_its_parts_and_its_id"),
    "chain: custom arguments with init": (MEET, "templates_and_iterators_are_given_named_arguments_too"),
    "chain: a cancel tells the end of all that had not ended": (
        EVENTS, "of_a_cancelled_composite_each_end_is_told_once_and_what_had_ended_is_not_told_again"
    ),
    # Groups
    "group: children run at the same time": (
        GROUP, "the_tasks_of_a_group_are_ready_at_once_and_the_results_are_in_their_order"
    ),
    "group: cancel": (EARLY, "a_cancelled_composite_cancels_what_is_below_and_tells_what_runs"),
    "group: results are saved": (API, "a_group_answers_the_list_of_results"),
    "group: an error of a task": (GROUP, "the_first_failure_ends_a_group_and_cancels_the_others"),
    "group: no children": (MEET, "a_template_that_answers_no_parts_is_refused_at_the_push"),
    "group: children are deleted": (LOST, "a_group_judges_a_lost_part_by_its_policy"),
    "group: that error goes up": (LOST, "a_lost_composite_ends_its_parent_and_what_waited_in_it"),
    "group: init": (MEET, "a_group_template_runs_all_parts_and_answers_their_results_in_order"),
    "group: custom arguments with init": (
        API, "a_template_may_be_part_of_a_composite_and_take_the_result_before_it"
    ),
    # Iterators
    "iterator: children run": (ITERATOR, "no_more_tasks_are_in_flight_than_its_window"),
    "iterator: progress": (ITERATOR, "it_runs_all_its_tasks_and_ends"),
    "iterator: as part of a chain": (ITERATOR, "it_may_be_part_of_a_chain_and_take_the_result_before_it"),
    "iterator: an error of a task": (ITERATOR, "a_task_that_fails_ends_it_and_cancels_the_rest"),
    "iterator: iterate is no function": (MEET, "an_iterate_that_is_no_function_is_refused_where_it_stands"),
    "iterator: bad output": (ITERATOR, "what_is_no_batch_fails_it_with_words"),
    "iterator: cancel": (ITERATOR, "cancelling_it_cancels_its_tasks"),
    "iterator: an error in a nested one": (MEET, "an_iterator_may_emit_iterators_and_fails_with_them"),
    "iterator: idling": (ITERATOR, "with_nothing_to_emit_it_waits_until_a_task_of_its_own_ends"),
    "iterator: it ends before its children": (ITERATOR, "it_emits_chains_and_groups_and_may_end_before_them"),
    # The queue
    "queue: namespace": (MEET, "two_namespaces_know_nothing_of_each_other"),
    "queue: chained groups": (MEET, "chained_groups_hand_their_results_on"),
    "queue: a nesting of 1,000 is cancelled": (EARLY, "a_thousand_levels_are_cancelled"),
    "queue: a child is cancelled (theirs refuses)": (EARLY, "a_cancelled_part_counts_as_failed"),
    "queue: total from init, sync and async": (
        (MEET, "the_total_of_a_template_is_that_of_the_parts_that_its_init_answers"),
        (WEIGHTS, "the_total_of_a_template_is_that_of_its_leaves_whose_init_may_be_async"),
    ),
    "queue: progress of the root": (EVENTS, "progress_of_the_whole_is_told_as_its_leaves_end"),
    "queue: a task runs in its pool": ("faults/test_running", "a_pool_is_served_only_by_workers_that_were_told_to"),
    "queue: several pools": ("faults/test_running", "one_worker_serves_several_pools"),
    "queue: cron once a second": ("schedules/test_watching", "two_watchdogs_fire_every_tick_once"),
    "queue: a child is cancelled, and its parent too": (EARLY, "any_order_of_cancelling_leaves_each_ended_once"),
    "queue: a missing address (ours has a default)": ("conf/test_conf", "the_defaults_are_the_documented_ones"),
    "queue: a name twice": ("tasks/test_task_api", "two_tasks_of_one_name_are_refused_with_both_places"),
    "queue: shutdown waits for what runs": ("faults/test_shutdown", "sigterm_lets_running_tasks_end"),
    "queue: concurrency is limited": (
        "worker/test_thread_executor",
        "threads_are_started_as_they_are_needed_and_no_more",
    ),
    "queue: cancel of a bad id": (MEET, "to_cancel_what_is_not_there_changes_nothing"),
    "queue: a task of another pool (theirs finds none)": (
        "results/test_handle",
        "a_task_is_found_by_its_id_in_any_pool",
    ),
    "queue: cancel leaves what has ended": (MEET, "what_is_over_is_not_cancelled"),
    "queue: errors of Redis surface": (
        ("kernel/test_store", "a_call_to_a_server_that_is_gone_says_so"),
        ("faults/test_outages", "the_server_is_killed_and_started_again"),
    ),
    "queue: an end is told": (EVENTS, "an_iterator_and_its_tasks_are_told_once_each_the_iterator_last"),
    "queue: an end is told by id, a composite's last": (
        EVENTS, "a_composite_ends_after_its_last_part_and_each_is_told_once"
    ),
    "queue: a cancel tells each end once": (EVENTS, "what_runs_when_its_group_is_cancelled_is_told_when_it_has_ended"),
    "queue: progress is told by id": (
        (STREAMS, "the_events_of_one_task_begin_with_its_state_and_end_with_its_end"),
        (STREAMS, "by_its_root_all_that_descends_from_a_task_is_told_and_nothing_else"),
    ),
    "queue: a transaction is one": (f"{HERE}/test_orders", "every_order_of_a_race_leaves_one_end_of_each"),
    # Tasks
    "task: the same again while it lives": (
        ("kernel/test_conflicts", "the_policy_decides_about_a_task_that_has_not_ended"),
        (f"{HERE}/test_composite_push", "the_same_push_again_changes_nothing"),
    ),
    "task: the same again when it has ended": (
        MEET, "a_composite_of_one_id_is_there_once_and_anew_when_it_has_ended"
    ),
    "task: run with arguments": ("tasks/test_task_api", "every_sort_of_function_is_a_task"),
    "task: restart when errored": (CHAIN, "a_task_that_is_tried_again_keeps_its_chain_waiting"),
    "task: finish after its retries": ("kernel/test_attempts", "n_retries_are_at_most_n_plus_1_attempts"),
    "task: restart when suspended": (
        "faults/test_dead_workers", "when_supervisor_and_children_are_killed_others_take_over_after_the_lease"
    ),
    "task: set a deadline": (
        (RUNNING, "a_task_that_asks_for_more_time_gets_it"),
        (RUNNING, "a_task_that_gives_itself_a_nearer_deadline_is_interrupted_then"),
        (RUNNING, "a_deadline_may_be_later_than_the_timeout"),
    ),
    "task: set progress": (
        (RUNNING, "progress_is_seen_while_the_task_runs_and_no_line_of_its_log_is_lost"),
        (WEIGHTS, "a_task_of_its_own_stands_at_its_total_when_it_has_succeeded"),
    ),
    "task: cancel": ("faults/test_limits", "a_running_task_that_is_cancelled_ends_as_cancelled"),
    "task: postpone": (MEET, "a_postponed_composite_begins_at_its_time_and_a_second_push_does_not_move_it"),
    "task: restart itself": (MEET, "a_part_that_restarts_itself_has_its_attempts_and_its_chain_waits"),
    "task: old ones are removed": (EARLY, "parts_are_kept_as_long_as_their_parent"),
    "task: custom id": ("tasks/test_task_api", "a_unique_task_is_there_once"),
    "task: process is no function": (MEET, "what_is_no_function_is_no_task"),
    "task: errors are told": ("worker/test_thread_executor", "signals_are_sent_with_what_became_of_the_task"),
    "task: no errors from cancelled ones": (
        ("tasks/test_cancelled_tasks", "a_cancelled_task_that_raises_ends_as_cancelled_and_nobody_hears_of_a_failure"),
        ("faults/test_limits", "a_running_task_that_is_cancelled_and_then_raises_ends_as_cancelled"),
        ("kernel/test_attempts", "a_task_whose_cancellation_was_asked_for_ends_as_cancelled_however_it_ends"),
    ),
    "task: errors propagate": (MEET, "an_error_deep_within_ends_all_above_it_with_the_way_to_it"),
    "task: progress goes to the parent": (
        (WEIGHTS, "half_of_a_leaf_shows_at_the_root"),
        (WEIGHTS, "a_total_that_a_running_leaf_says_counts_at_the_root"),
        (f"{HERE}/test_retry", "progress_comes_to_the_total_after_a_retry_whoever_cancelled_the_part"),
    ),
    "task: invalid commands": (f"{HERE}/test_commands", "what_is_told_to_an_older_generation_is_dropped_and_counted"),
    "task: a slot is released once on timeout": (
        ("worker/test_timeouts", "the_slot_of_a_task_that_timed_out_is_free_once"),
        ("faults/test_limits", "the_hard_limit_replaces_the_process_and_costs_its_other_tasks_nothing"),
    ),
}  # fmt: skip


def places_of(what: str) -> tuple[Place, ...]:
    """The tests that assert a behaviour."""
    found = BEHAVIOURS[what]
    return (found,) if isinstance(found[0], str) else found  # type: ignore[return-value]  # a pair of texts is one place


@cache
def found_in(file: str) -> dict[str, list[ast.FunctionDef]]:
    """The tests of a file by name; a name that is there twice hides the first one."""
    found: dict[str, list[ast.FunctionDef]] = {}
    for node in ast.parse((TESTS / f"{file}.py").read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            found.setdefault(node.name, []).append(node)
    return found


def asserts(node: ast.AST) -> int:
    """How many things a test asserts by itself, `pytest.raises` included."""
    return sum(
        isinstance(each, ast.Assert)
        or (isinstance(each, ast.Call) and ast.unparse(each.func) in ("pytest.raises", "raises"))
        for each in ast.walk(node)
    )


def test_there_are_as_many_as_in_the_original() -> None:
    sections = [what.partition(":")[0] for what in BEHAVIOURS]
    counts = {name: sections.count(name) for name in dict.fromkeys(sections)}
    assert counts == {"chain": 9, "group": 9, "iterator": 10, "queue": 23, "task": 20}


@for_each("what", BEHAVIOURS)
def test_each_behaviour_has_tests_that_run_and_assert(what: str) -> None:
    for file, name in places_of(what):
        (test,) = found_in(file)[f"test_{name}"]
        assert asserts(test) > 0, f"{file}: test_{name} asserts nothing"
        marks = " ".join(map(ast.unparse, test.decorator_list))
        assert not any(word in marks for word in ("skip", "xfail"))


def test_no_test_stands_for_two_behaviours() -> None:
    assert len({places_of(what)[0] for what in BEHAVIOURS}) == len(BEHAVIOURS)
