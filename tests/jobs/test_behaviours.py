"""The 52 behaviours of the original system, each with the tests of ours that show it.

The original is a queue of downloads, with aggregations and callbacks. Where ours does something else, the note says so.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.support.for_each import for_each

TESTS = Path(__file__).resolve().parents[1]


class Behaviour(NamedTuple):
    """A behaviour of the original; tests as `file::name` below the folder of all tests; what is different."""

    what: str
    tests: tuple[str, ...]
    note: str = ""


API, MANAGED, SUBMIT = "jobs/test_api.py::", "jobs/test_api_management.py::", "jobs/test_submit.py::"
LANES, AGGREGATIONS, LIFE = "jobs/test_lane_names.py::", "jobs/test_aggregations.py::", "jobs/test_life_of_a_job.py::"
DOWNLOAD, DOWNLOADS, CLIENT = "jobs/test_download.py::", "jobs/test_download_jobs.py::", "jobs/test_http_client.py::"
TYPES, CALLBACKS, WEBHOOK = "jobs/test_file_types.py::", "jobs/test_callbacks.py::", "jobs/test_webhook.py::"
CLASSIC, DISK = "jobs/test_classic.py::", "jobs/test_disk_guard.py::"
DELETED, COUNTERS = "jobs/test_file_deletion.py::", "jobs/test_counters.py::"
FAULTS = "faults/test_jobs.py::"
STATUS = DOWNLOAD + "test_a_status_says_if_another_attempt_is_of_use"

BEHAVIOURS: dict[int, Behaviour] = {
    1: Behaviour(
        "a valid job is accepted, an invalid one is not",
        (
            CLASSIC + "test_a_job_is_handed_in",
            CLASSIC + "test_a_needed_field_is_missed",
            CLASSIC + "test_a_body_that_is_no_object_is_refused",
            API + "test_a_job_is_handed_in_and_read",
            API + "test_a_wrong_field_is_named_and_nothing_is_stored",
            API + "test_a_field_that_is_missing_is_named",
            API + "test_a_body_that_is_no_object_is_refused",
        ),
    ),
    2: Behaviour(
        "only a failed callback is sent again",
        (
            CLASSIC + "test_a_dead_callback_is_sent_again",
            MANAGED + "test_a_dead_callback_is_sent_again_and_the_job_is_not",
            CALLBACKS + "test_an_action_on_callbacks_refuses_a_job_and_an_unknown_id",
        ),
    ),
    3: Behaviour(
        "ids that are made at once differ",
        (LIFE + "test_ids_that_are_made_by_many_threads_differ", CLASSIC + "test_a_job_is_handed_in"),
    ),
    4: Behaviour(
        "id, limit and proxy of an aggregation have types",
        (
            CLASSIC + "test_a_wrong_field_is_named_in_plain_text",
            LANES + "test_what_is_not_a_text_of_1_to_200_characters_is_refused",
            SUBMIT + "test_a_wrong_option_is_refused_and_nothing_is_stored",
            DOWNLOADS + "test_a_wrong_option_is_refused_when_the_job_is_handed_in",
        ),
        "/api/v1 refuses a limit with a fraction; the classic routes cut it",
    ),
    5: Behaviour(
        "url, callback, aggregation, extra, timeout and headers have types",
        (
            CLASSIC + "test_all_fields_are_taken",
            CLASSIC + "test_a_wrong_field_is_named_in_plain_text",
            CLASSIC + "test_a_callback_that_cannot_be_sent_is_refused",
            CLASSIC + "test_an_extra_of_another_type_is_dropped",
            API + "test_a_wrong_field_is_named_and_nothing_is_stored",
            DOWNLOADS + "test_a_wrong_option_is_refused_when_the_job_is_handed_in",
            CALLBACKS + "test_a_wrong_url_is_refused_at_the_push",
        ),
    ),
    6: Behaviour(
        "a job without content can be shown", (LIFE + "test_a_job_without_any_option_has_a_status_and_a_story",)
    ),
    7: Behaviour(
        "what is stored of a job is what was handed in",
        (LIFE + "test_a_handler_gets_what_was_handed_in", CLASSIC + "test_all_fields_are_taken"),
    ),
    8: Behaviour("a queued job is claimed under its id", (LIFE + "test_a_job_that_waits_is_claimed_under_its_id",)),
    9: Behaviour(
        "a callback that is sent again begins with attempt 0",
        (LIFE + "test_a_dead_callback_that_is_sent_again_has_all_attempts_before_it",),
    ),
    10: Behaviour(
        "an aggregation without jobs vanishes",
        (
            LIFE + "test_an_aggregation_that_was_never_used_is_not_there",
            AGGREGATIONS + "test_an_aggregation_without_jobs_vanishes_after_its_idle_time",
        ),
        "it vanishes after its idle time, and not with its last job",
    ),
    11: Behaviour(
        "an aggregation with jobs stays", (AGGREGATIONS + "test_an_aggregation_is_deleted_only_when_it_is_empty",)
    ),
    12: Behaviour(
        "an aggregation without settings has a default limit",
        (
            SUBMIT + "test_an_aggregation_has_a_limit_without_being_told",
            LIFE + "test_a_job_whose_aggregation_lost_its_settings_still_runs",
        ),
    ),
    13: Behaviour(
        "a live claim is respected, an expired one is taken",
        (LIFE + "test_a_live_lease_is_respected_and_an_expired_one_is_taken",),
        "each job has a lease, and not the aggregation",
    ),
    14: Behaviour(
        "headers of the settings are sent",
        (DOWNLOAD + "test_headers_of_the_settings_are_sent_and_those_of_the_job_win",),
    ),
    15: Behaviour(
        "headers of a job win", (DOWNLOAD + "test_headers_of_the_settings_are_sent_and_those_of_the_job_win",)
    ),
    16: Behaviour(
        "the proxy of the aggregation is used",
        (
            LIFE + "test_a_download_goes_through_the_proxy_of_its_aggregation",
            CLIENT + "test_a_proxy_is_asked_with_its_password",
        ),
    ),
    17: Behaviour(
        "a check of types has its patterns",
        (TYPES + "test_a_pattern_that_cannot_be_read_is_refused",),
        "the original ends the process here; ours refuses the job when it is handed in",
    ),
    18: Behaviour("a wrong certificate is permanent", (LIFE + "test_a_wrong_certificate_ends_the_job_at_once",)),
    19: Behaviour("404 is permanent", (STATUS, DOWNLOADS + "test_a_permanent_failure_ends_the_job_and_is_told")),
    20: Behaviour("500 is retriable", (STATUS,)),
    21: Behaviour(
        "a wrong type is permanent, and the message names it",
        (DOWNLOAD + "test_a_type_that_is_not_allowed_is_refused_and_not_stored",),
    ),
    22: Behaviour(
        "an attempt that is cut off can be repeated",
        (
            DOWNLOAD + "test_progress_is_told_and_may_end_the_attempt",
            FAULTS + "test_processes_that_are_killed_at_work_lose_no_job_and_no_callback",
        ),
    ),
    23: Behaviour("a download ends as a success", (DOWNLOADS + "test_a_job_without_a_handler_is_a_download",)),
    24: Behaviour("404 ends as a failure", (DOWNLOADS + "test_a_permanent_failure_ends_the_job_and_is_told",)),
    25: Behaviour("500 waits for attempt 2", (LIFE + "test_two_answers_of_a_server_in_trouble_and_then_a_file",)),
    26: Behaviour(
        "a file is deleted, also without its job",
        (
            LIFE + "test_a_file_is_deleted_whether_it_is_there_or_not",
            DELETED + "test_a_file_is_deleted_when_the_record_of_its_job_ends",
            DELETED + "test_an_orphan_is_deleted_and_no_other_file_of_the_project",
        ),
    ),
    27: Behaviour(
        "a paused system starts nothing, and goes on",
        (
            FAULTS + "test_a_full_disk_stops_the_claims_and_touches_no_job",
            AGGREGATIONS + "test_an_operator_changes_pauses_and_resumes_an_aggregation",
        ),
        "a download that runs is not cut off when the disk fills",
    ),
    28: Behaviour(
        "a job whose aggregation has lost its settings still runs",
        (LIFE + "test_a_job_whose_aggregation_lost_its_settings_still_runs",),
    ),
    29: Behaviour("an empty disk", (DISK + "test_a_disk_with_space_is_no_event",)),
    30: Behaviour("a full disk, once", (DISK + "test_a_full_disk_is_one_alarm",)),
    31: Behaviour("a disk that fills and empties", (DISK + "test_downloads_wait_from_95_percent_until_90_percent",)),
    32: Behaviour("allowed types", (TYPES + "test_patterns_allow_and_refuse_types",)),
    33: Behaviour("refused types", (TYPES + "test_patterns_allow_and_refuse_types",)),
    34: Behaviour("a body that comes byte by byte", (LIFE + "test_a_body_that_comes_byte_by_byte_has_its_type",)),
    35: Behaviour("a short file is checked, too", (DOWNLOAD + "test_a_short_file_has_a_type_too",)),
    36: Behaviour(
        "a body that breaks off is no wrong type",
        (DOWNLOAD + "test_a_body_that_breaks_off_early_is_told_and_not_its_type",),
    ),
    37: Behaviour("patterns are checked", (TYPES + "test_a_pattern_that_cannot_be_read_is_refused",)),
    38: Behaviour("a pattern is negated", (TYPES + "test_patterns_allow_and_refuse_types",)),
    39: Behaviour(
        "a callback without a way is told",
        (
            CLASSIC + "test_a_callback_that_cannot_be_sent_is_refused",
            COUNTERS + "test_callbacks_are_counted_when_they_are_delivered_or_dead",
        ),
        "a job with an unknown way of callbacks is refused when it is handed in; a way that is gone later is counted",
    ),
    40: Behaviour(
        "what becomes of a delivered and of a dead callback",
        (
            CALLBACKS + "test_a_success_is_told_with_its_result",
            CALLBACKS + "test_a_target_that_is_gone_leaves_a_dead_callback_which_an_operator_sends_again",
        ),
        "a delivered callback is kept for its retention, and not deleted at once",
    ),
    41: Behaviour(
        "a callback in flight of a lost worker is sent again",
        (FAULTS + "test_a_callback_whose_worker_dies_in_the_delivery_is_sent_again_as_it_was",),
        "a dead callback is no lease, so nothing takes it back; an operator sends it again, as of 40",
    ),
    42: Behaviour(
        "202 is delivered",
        (
            CALLBACKS + "test_a_success_is_told_with_its_result",
            WEBHOOK + "test_a_callback_is_delivered_and_each_key_verifies_its_signature",
        ),
    ),
    43: Behaviour(
        "the file and all fields of the callback",
        (LIFE + "test_the_file_is_identical_and_the_callback_has_every_field",),
    ),
    44: Behaviour(
        "404 is told without download_url", (DOWNLOADS + "test_a_permanent_failure_ends_the_job_and_is_told",)
    ),
    45: Behaviour("a wrong type is told", (LIFE + "test_a_wrong_type_is_told_by_the_callback",)),
    46: Behaviour(
        "the size of a picture, and none of other files",
        (
            LIFE + "test_the_file_is_identical_and_the_callback_has_every_field",
            LIFE + "test_a_file_that_is_no_picture_has_no_size_and_is_stored",
            TYPES + "test_other_files_have_no_size",
        ),
    ),
    47: Behaviour("500, 503, then success", (LIFE + "test_two_answers_of_a_server_in_trouble_and_then_a_file",)),
    48: Behaviour("no retries", (LIFE + "test_a_job_has_as_many_attempts_as_it_was_given",)),
    49: Behaviour("one retry", (LIFE + "test_a_job_has_as_many_attempts_as_it_was_given",)),
    50: Behaviour(
        "a short body beats a wrong type, and fails",
        (LIFE + "test_a_body_that_ends_early_fails_the_job_at_last_with_that_reason",),
    ),
    51: Behaviour(
        "counters are consistent",
        (
            COUNTERS + "test_the_classic_statistics_have_the_counters_under_their_old_names",
            COUNTERS + "test_each_attempt_is_counted_by_its_answer_and_its_failure",
            FAULTS + "test_the_load_of_the_original_ends_as_it_did_there",
        ),
    ),
    52: Behaviour("300 jobs: 100 succeed, 200 fail", (FAULTS + "test_the_load_of_the_original_ends_as_it_did_there",)),
}


@cache
def names_in(file: str) -> frozenset[str]:
    """The test functions of a module."""
    nodes = ast.walk(ast.parse((TESTS / file).read_text()))
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_each_of_the_52_behaviours_is_in_the_table_once() -> None:
    assert sorted(BEHAVIOURS) == list(range(1, 53))


@for_each("number", BEHAVIOURS)
def test_a_behaviour_names_tests_that_exist(number: int) -> None:
    missing = [test for test in BEHAVIOURS[number].tests if test.split("::")[1] not in names_in(test.split("::")[0])]
    assert missing == []
