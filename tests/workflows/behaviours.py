"""Table of behaviours: what workflow engines of this kind promise, and the tests that hold ours to it.

The names are those of the suites of go-workflows. A test is named by its module and function. A behaviour that ours
does not have says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Missing:
    """A behaviour that there is not. ``reason`` says what there is instead."""

    reason: str


Tests = tuple[str, ...] | Missing

BACKEND: Mapping[str, Tests] = {
    "CreateWorkflowInstance_DoesNotError": ("test_end_to_end.test_a_run_without_commands_has_two_entries",),
    "CreateWorkflowInstance_SameInstanceIDErrors": (
        "test_runs.test_an_instance_has_one_run_at_a_time_and_its_id_can_be_used_again",
    ),
    "CreateWorkflowInstance_Metadata": ("test_backend.test_metadata_of_a_start_comes_with_the_run_and_its_activities",),
    "RemoveWorkflowInstance_ErrorWhenInstanceInProgress": (
        "test_backend.test_a_run_that_has_not_ended_is_not_deleted",
    ),
    "RemoveWorkflowInstance_ErrorWhenInstanceDoesNotExist": (
        "test_backend.test_a_run_that_is_not_there_is_not_deleted",
    ),
    "GetWorkflowTask_ReturnsNilWhenTimeout": ("test_backend.test_without_a_run_there_is_no_step",),
    "GetWorkflowTask_ReturnsTask": ("test_backend.test_a_step_is_claimed_by_one_worker",),
    "GetWorkflowTask_ReturnsTaskFromGivenQueue": (
        "test_backend.test_a_worker_of_a_pool_gets_the_runs_and_activities_of_this_pool",
    ),
    "GetWorkflowTask_LocksTask": ("test_backend.test_a_step_is_claimed_by_one_worker",),
    "CompleteWorkflowTask_ReturnsErrorIfNotLocked": (
        "test_backend.test_a_decision_step_is_settled_once",
        "test_backend.test_a_step_without_its_lease_writes_nothing",
    ),
    "CompleteWorkflowTask_AddsNewEventsToHistory": (
        "test_backend.test_a_history_has_the_events_and_commands_in_order",
    ),
    "CompleteWorkflowTask_SetsCompletedAtWhenFinished": ("test_backend.test_the_end_of_a_run_has_its_time",),
    "CompleteWorkflowTask_SendsInstanceEvents": ("test_backend.test_an_event_for_another_instance_makes_it_ready",),
    "SignalWorkflow_ErrorWhenInstanceDoesNotExist": ("test_backend.test_an_instance_that_is_not_there_takes_nothing",),
    "CancelWorkflow_ErrorWhenInstanceDoesNotExist": ("test_backend.test_an_instance_that_is_not_there_takes_nothing",),
    "CancelWorkflow_AddsCancelEventToPendingEvents": ("test_backend.test_a_cancel_is_an_event_of_the_next_step",),
    "GetActivityTask_ReturnsNilWhenTimeout": ("test_backend.test_without_a_run_there_is_no_step",),
    "GetActivityTask_ReturnsTaskFromQueues": (
        "test_backend.test_a_worker_of_a_pool_gets_the_runs_and_activities_of_this_pool",
    ),
    "CompleteActivityTask_DeliversResultBackToWorkflowQueue": (
        "test_other_pools.test_the_result_of_an_activity_comes_from_another_pool",
    ),
}

END_TO_END: Mapping[str, Tests] = {
    "SimpleWorkflow": ("test_runs.test_activities_run_at_once_and_one_after_the_other",),
    "Workflow_LotsOfActivities": ("test_end_to_end.test_a_hundred_activities_at_once",),
    "SimpleWorkflow_ExpectedHistory": ("test_end_to_end.test_a_run_without_commands_has_two_entries",),
    "UnregisteredWorkflow_Errors": ("test_end_to_end.test_a_name_that_no_worker_knows_waits_for_one_that_does",),
    "WorkflowArgumentMismatch": ("test_end_to_end.test_wrong_arguments_of_a_workflow_are_refused_at_its_start",),
    "UnregisteredActivity_Errors": ("test_end_to_end.test_a_name_that_no_worker_knows_waits_for_one_that_does",),
    "ActivityArgumentMismatch": ("test_end_to_end.test_wrong_arguments_of_an_activity_are_an_exception_of_the_code",),
    "SideEffect_Simple": ("test_end_to_end.test_side_effects_run_once_though_their_code_is_replayed",),
    "Signal_after_completion": ("test_end_to_end.test_a_signal_after_the_end_is_refused",),
    "SubWorkflow/Simple": ("test_runs.test_a_child_reports_to_its_parent",),
    "SubWorkflow/DuplicateActiveInstanceID": ("test_runs.test_the_id_of_a_child_that_is_in_use_fails_the_call",),
    "SubWorkflow/DuplicateInactiveInstanceID": ("test_end_to_end.test_the_instance_of_a_child_can_be_used_again",),
    "SubWorkflow/PropagateCancellation": ("test_end_to_end.test_a_cancel_reaches_the_children_and_each_answers",),
    "SubWorkflow/CancelBeforeStarting": ("test_end_to_end.test_what_is_cancelled_in_its_own_step_never_begins",),
    "SubWorkflow/Signal": (
        "test_commands.test_a_parent_sends_a_signal_to_its_child",
        "test_runs.test_a_child_reports_to_its_parent",
    ),
    "SubWorkflow/DifferentQueue": (
        "test_other_pools.test_a_child_in_another_pool_continues_as_new_and_reports_to_its_parent",
    ),
    "SubWorkflow/Signal_BeforeStarting": ("test_end_to_end.test_a_signal_to_an_instance_that_comes_later_is_not_kept",),
    "NonDeterminism": ("test_blocked.test_changed_code_blocks_the_run_and_the_earlier_code_frees_it",),
    "RemoveWorkflowInstance": ("test_backend.test_a_deleted_run_is_gone_with_its_history",),
    "ContextPropagation": ("test_end_to_end.test_metadata_reaches_the_activities_of_a_run",),
    "MaxHistorySize": ("test_end_to_end.test_a_history_has_a_greatest_length",),
    "Activity/Panic": ("test_commands.test_an_unexpected_error_of_an_activity_is_retried_and_keeps_its_stack",),
    "Activity/CustomError": ("test_end_to_end.test_the_error_of_an_activity_keeps_its_class_and_message",),
    "Activity/ReceiveAttempt": ("test_end_to_end.test_an_activity_knows_its_attempt",),
    "Activity/ExtendTask": ("test_known_faults.test_an_activity_that_runs_longer_than_its_lease_keeps_it",),
    "Timer/CancelWorkflowInstance": ("test_end_to_end.test_a_cancelled_run_leaves_no_timer",),
    "Timer/CancelBeforeStarting": ("test_end_to_end.test_what_is_cancelled_in_its_own_step_never_begins",),
    "Timer/CancelTwice": ("test_end_to_end.test_a_timer_that_is_cancelled_twice_is_dropped_once",),
    "Timer/CancelBeforeFiringRemovesFutureEvent": (
        "test_commands.test_a_timer_that_is_dropped_leaves_the_agenda_while_its_run_goes_on",
    ),
    "Timer/ScheduleCancelRace": ("test_end_to_end.test_a_timer_that_fires_in_the_step_that_drops_it_does_no_harm",),
    "Stats/ActiveInstance": (
        "test_run_lists.test_open_runs_are_counted_by_state_and_pool",
        "test_run_lists.test_activities_are_counted_in_their_pool_until_they_end",
    ),
    "Diag/Paging": ("test_run_lists.test_runs_are_listed_in_pages",),
    "Diag/GetWorkflowInstance_ReturnsQueue": (
        "test_backend.test_a_worker_of_a_pool_gets_the_runs_and_activities_of_this_pool",
    ),
    "Queues/OnlyPullsWorkflowsFromGivenQueues": (
        "test_backend.test_a_worker_of_a_pool_gets_the_runs_and_activities_of_this_pool",
    ),
    "RemoveWorkflowInstances/Removes": ("test_run_lists.test_ended_runs_are_removed_and_all_others_stay",),
    "AutoExpiration/StartsWorkflowAndRemoves": ("test_run_lists.test_ended_runs_expire_with_all_that_was_theirs",),
    "AutoExpiration/UpdateDelay": ("test_run_lists.test_the_time_of_an_ended_run_can_be_changed",),
    "ContinueAsNew/RestartsWorkflowInstance": ("test_runs.test_a_run_continues_as_new_with_its_signals",),
    "ContinueAsNew/Subworkflow": (
        "test_end_to_end.test_the_parent_of_a_run_that_continues_as_new_sees_its_last_result",
    ),
    "ContinueAsNew/OldInstancesAreRemoved": (
        "test_end_to_end.test_runs_that_continued_as_new_stay_until_their_time_is_over",
    ),
    "Tracing/WorkflowsHaveSpans": ("test_tracing.test_a_run_and_its_activities_have_spans",),
    "Tracing/TimersHaveSpans": ("test_tracing.test_a_timer_has_a_span_of_its_time",),
    "Tracing/TimersWithinCustomSpans": (
        "test_tracing.test_timers_and_calls_within_a_span_of_the_code_are_its_children",
    ),
    "Tracing/SubWorkflowsHaveSpansWithCorrectParent": (
        "test_tracing.test_the_span_of_a_child_is_below_that_of_its_parent",
    ),
    "Tracing/InnerWorkflowSpansHaveCorrectParent": (
        "test_tracing.test_timers_and_calls_within_a_span_of_the_code_are_its_children",
    ),
}

FAULTS: Mapping[str, Tests] = {
    "two queues read at once and one message left to time out": (
        "test_known_faults.test_the_runs_of_two_pools_reach_one_worker_each_once",
    ),
    "leases extended by those who lost them": (
        "test_known_faults.test_a_lease_that_was_taken_is_not_extended_by_its_former_worker",
    ),
    "completions not checked against the owner": (
        "test_known_faults.test_the_end_of_an_activity_counts_only_under_its_lease",
        "test_backend.test_a_step_without_its_lease_writes_nothing",
    ),
    "several due timers of one instance fired one at a time or late": (
        "test_known_faults.test_due_timers_of_a_run_fire_together_and_in_order",
    ),
    "timers, activities and queue entries that outlive their run": (
        "test_known_faults.test_what_a_run_leaves_open_ends_with_it_and_its_result_is_kept",
        "test_runs.test_terminate_ends_at_once_with_all_that_was_open",
    ),
    "signals dropped or reordered before anyone waits": (
        "test_known_faults.test_signals_that_come_before_the_code_waits_are_all_there_in_order",
    ),
    "an error in the engine that kills the worker and comes back in a loop": (
        "test_known_faults.test_an_error_of_the_engine_blocks_the_run_and_backs_off",
        "test_blocked.test_lost_workers_block_a_run_and_never_fail_it",
    ),
    "permanent errors retried because they were wrapped": (
        "test_known_faults.test_an_error_that_a_retry_does_not_help_is_not_retried_for_its_cause",
    ),
    "the first back-off already multiplied": ("test_known_faults.test_the_first_back_off_is_the_delay_itself",),
    "expiry given as a float": ("test_known_faults.test_a_run_is_kept_for_half_a_second_if_its_workflow_says_so",),
    "creation order mixed from two units": ("test_known_faults.test_runs_are_listed_in_the_order_of_their_starts",),
    "a run without history that can't be shown": ("test_known_faults.test_a_run_without_a_history_can_be_shown",),
    "scripts missing after a Redis restart": (
        "test_known_faults.test_a_store_that_forgot_the_library_takes_signals_and_steps",
    ),
    "ids with : or /": ("test_known_faults.test_an_instance_may_have_each_character_of_an_id",),
    "failed runs shown as completed": ("test_known_faults.test_a_failed_run_is_shown_as_failed",),
    "a workflow of an unknown name failed instead of kept": (
        "test_end_to_end.test_a_name_that_no_worker_knows_waits_for_one_that_does",
    ),
    "results lost because a future was still pending": (
        "test_known_faults.test_what_a_run_leaves_open_ends_with_it_and_its_result_is_kept",
    ),
}

ENGINE: Mapping[str, Tests] = {
    "executor: a step gives commands, a replay gives the same ones": (
        "test_replay.test_a_replay_gives_the_same_commands_as_the_step",
        "test_backend.test_a_history_has_the_events_and_commands_in_order",
    ),
    "executor: an unhandled error ends the run": ("test_runs.test_what_the_code_raises_fails_the_run",),
    "executor: a timer that is cancelled several times": (
        "test_end_to_end.test_a_timer_that_is_cancelled_twice_is_dropped_once",
    ),
    "executor: a signal that comes with the start": ("test_runs.test_a_signal_before_the_first_step_is_kept",),
    "executor: pending futures at the end": (
        "test_known_faults.test_what_a_run_leaves_open_ends_with_it_and_its_result_is_kept",
    ),
    "executor: a child is scheduled and cancelled": (
        "test_end_to_end.test_a_cancel_reaches_the_children_and_each_answers",
        "test_end_to_end.test_what_is_cancelled_in_its_own_step_never_begins",
    ),
    "history info: the same length in a replay": (
        "test_end_to_end.test_the_code_sees_the_same_length_of_its_history_in_a_replay",
    ),
    "replay logger: a line of the code is written once": (
        "test_logging.test_a_replay_does_not_write_the_lines_of_the_code_again",
    ),
    "commands: begun, dropped before and after the commit, ended": (
        "test_replay.test_what_begins_and_ends_in_one_step_is_no_command",
        "test_replay.test_a_timer_that_is_not_needed_any_more_is_dropped",
        "test_end_to_end.test_a_timer_that_fires_in_the_step_that_drops_it_does_no_harm",
    ),
    "commands: a side effect is recorded": (
        "test_end_to_end.test_side_effects_run_once_though_their_code_is_replayed",
    ),
    "commands: continue as new, also from a task group": (
        "test_runs.test_a_run_continues_as_new_with_its_signals",
        "test_endings.test_a_run_continues_as_new_from_a_task_group",
    ),
    "sync: coroutines run in creation order until all wait": (
        "test_replay.test_a_thousand_calls_are_replayed_in_creation_order",
    ),
    "sync: a coroutine that never yields": ("test_blocked.test_code_that_cannot_be_replayed_blocks_with_advice",),
    "sync: futures, selectors, channels, wait groups": (
        "test_replay.test_events_and_queues_of_asyncio_work",
        "test_twins.test_a_primitive_of_asyncio_works_and_repeats_itself",
    ),
    "sync: error groups": (
        "test_environment.test_a_task_group_cancels_the_others_when_one_fails",
        "test_endings.test_errors_of_the_code_in_a_group_fail_the_run",
    ),
    "workflow: wrong arguments and results": (
        "test_end_to_end.test_wrong_arguments_of_an_activity_are_an_exception_of_the_code",
        "test_bad_input.test_what_cannot_be_encoded_is_an_exception_in_the_code",
        "test_registration.test_a_result_of_another_type_is_an_exception_in_the_code",
    ),
    "executor: what a dropped run leaves is closed": ("test_kept_runs.test_an_evicted_run_is_closed",),
    "cache: the oldest run goes first": (
        "test_kept_runs.test_the_run_that_was_kept_longest_goes_first_and_goes_on_by_a_replay",
        "test_kept_runs.test_without_memory_each_step_begins_with_a_replay",
    ),
    "registry: signatures, options and conflicts of names": (
        "test_registration.test_only_an_async_function_is_a_workflow",
        "test_registration.test_an_option_that_is_none_is_refused",
        "test_registration.test_a_second_workflow_of_the_same_name_is_refused",
    ),
    "analyzer: clocks, chance, input and output in the code": (
        "test_checkworkflows.test_each_place_is_found_with_its_line_and_what_to_use",
        "test_checkworkflows.test_names_that_the_code_imported_are_found_too",
    ),
    "errors: class, message and cause survive": (
        "test_end_to_end.test_the_error_of_an_activity_keeps_its_class_and_message",
        "test_known_faults.test_an_error_that_a_retry_does_not_help_is_not_retried_for_its_cause",
    ),
    "activity executor: unknown activity": (
        "test_end_to_end.test_a_name_that_no_worker_knows_waits_for_one_that_does",
    ),
    "worker: polls, extends, completes, stops": (
        "test_backend.test_without_a_run_there_is_no_step",
        "test_known_faults.test_an_activity_that_runs_longer_than_its_lease_keeps_it",
        "test_suspend.test_a_run_whose_worker_gives_it_back_rests",
    ),
    "client: wrong arguments, results, time limits, signals": (
        "test_end_to_end.test_wrong_arguments_of_a_workflow_are_refused_at_its_start",
        "test_runs.test_a_suspended_run_makes_no_step_until_it_is_resumed",
        "test_backend.test_an_instance_that_is_not_there_takes_nothing",
    ),
    "tester: mocks, time, signals, children": (
        "test_environment.test_an_activity_is_mocked_and_retried_as_its_options_say",
        "test_environment.test_a_workflow_waits_for_a_person_and_goes_on",
        "test_environment.test_a_child_is_replaced_by_a_function",
    ),
    "activity tester: an activity has the context of its task": (
        "test_environment_long.test_an_activity_has_the_context_of_its_task",
    ),
    "tester: a run that waits for nothing": ("test_environment.test_a_run_that_waits_for_nothing_is_stuck",),
}
"""The groups of the suite of the engine, each by what it holds in substance."""
