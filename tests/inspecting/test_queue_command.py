from __future__ import annotations

import json
import re
import threading
import time
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from queueops.management.commands.queue import Command
from queueops.management.queue.formatting import moment, printable, table
from queueops.model.contracts import Outcome
from queueops.redis import events
from tests.composites.trees import chain_of, plant
from tests.inspecting.errors import stored
from tests.kernel.desk import Desk
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db


def queue(*words: str) -> str:
    """What the command prints."""
    out = StringIO()
    call_command("queue", *words, stdout=out)
    return out.getvalue()


def alarmed(*words: str) -> str:
    """What `queue status` prints, where something is wrong: it exits with 1 then."""
    out = StringIO()
    with pytest.raises(SystemExit) as raised:
        call_command("queue", "status", *words, stdout=out)
    assert raised.value.code == 1
    return out.getvalue()


def queue_json(*words: str) -> Any:
    return json.loads(queue(*words, "--json"), parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


def failing(*words: str) -> tuple[int, str]:
    """The exit status of a command that fails, and what it said."""
    with pytest.raises((CommandError, SystemExit)) as raised:
        queue(*words)
    error = raised.value
    return (error.returncode, str(error)) if isinstance(error, CommandError) else (int(str(error.code)), "")


def test_status_shows_counts_pools_lanes_and_alarms(desk: Desk) -> None:
    desk.push("a", "b")
    shown = alarmed()
    assert "pending  2" in shown
    assert "DANGER: No live worker serves the pool default" in shown
    assert json.loads(alarmed("--json"))["states"]["pending"] == 2


def test_status_exits_with_0_when_everything_is_well(desk: Desk) -> None:
    desk.tick()
    assert queue("status").startswith("No alarm. No worker is running.")
    desk.broker.beat("default", "w1", {"names": "", "slots": 1})
    assert queue("status").startswith("Everything is well.")
    desk.push("a")
    desk.broker.lane("default", "default", paused=1)
    assert "    mend it: manage.py queue resume default --pool default" in alarmed()


def test_status_shows_a_lanes_rate_and_whether_it_is_used_up(desk: Desk) -> None:
    desk.broker.lane("default", "side", rate=0.005)
    desk.push("a", "b", lane="side")
    shown = alarmed()
    assert "0.005/s" in shown
    assert "used up" not in shown
    desk.lease()
    assert "0.005/s (used up)" in alarmed()


def test_status_tells_durations_in_plain_words(desk: Desk) -> None:
    desk.exchange(metrics={"ok|add": 2, "wait|add|40": 2, "run|add|12": 2})
    _, row = queue("status").split("POOL")[1].splitlines()[:2]
    assert re.split(r"\s{2,}", row)[6:9] == ["2.2 min", "8 ms", "0 ms"]


def test_a_task_that_is_no_map_reduce_one_is_said_to_have_no_chunks(desk: Desk) -> None:
    desk.push("a")
    for words in (("chunks", "a"), ("mend", "a", "retry", "1"), ("restart", "a", "map")):
        assert failing(*words) == (1, "The task a is a task, and has no chunks.")


def test_list_filters_and_pages(desk: Desk) -> None:
    desk.push("a", "b", "c", name="add")
    desk.push("d", name="mul")
    page = queue_json("list", "--name", "add", "--limit", "2")
    assert [row["id"] for row in page["rows"]] == ["c", "b"]
    rest = queue_json("list", "--name", "add", "--after", page["next"])
    assert [row["id"] for row in rest["rows"]] == ["a"]
    assert "4" in queue("list").splitlines()[-1]


def test_why_a_chain_waits_leads_to_its_parts_and_not_to_its_end(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    for waiting in ("c", "b"):
        told = queue("why", waiting)
        assert "waits for its " in told
        assert "see: manage.py queue tree c --only open" in told
        assert "queue cancel" not in told
    assert "a" in queue("tree", "c", "--only", "open")


def test_show_and_why_tell_one_task(desk: Desk) -> None:
    desk.push("a", name="add", args=b'[[1],{"password":"hunter2"}]', retries=1)
    desk.settle(desk.lease(), Outcome.ERROR, delay_ms=50_000, **stored(message="boom \x1b[31m"))
    shown = queue("show", "a")
    assert "restart" in shown
    assert "hunter2" not in shown
    assert "\x1b" not in shown
    assert "\\x1b[31m" in shown
    assert "NO  The task waits for its next attempt: attempt 1 of 2 failed" in queue("why", "a")
    assert "mend it: manage.py queue run-now a" in queue("why", "a")
    assert queue_json("why", "a")[0]["verb"] == "run_now"
    assert queue_json("show", "a")["error"]["message"] == "boom \x1b[31m"


@pytest.mark.parametrize("said", ["nan", "inf", "-inf", "1e400", "quite", ""])
def test_whatever_a_record_says_of_progress_and_time_is_shown_as_json(desk: Desk, said: str) -> None:
    desk.push("a")
    desk.client.hset(desk.keys.task("a"), mapping=dict.fromkeys(("pr", "to", "c", "b", "d", "p", "at"), said))
    (row,) = queue_json("list")["rows"]
    assert (row["progress"], row["total"]) == (None, None)
    assert queue_json("show", "a")["progress"] is None
    desk.client.hset(desk.keys.task("a"), mapping={"b": "9" * 15, "pr": 1e300})
    assert "999999999999999 ms, which is not a valid time" in queue("show", "a")
    assert queue("list")
    desk.broken.add("a")


@pytest.mark.parametrize(
    ("done", "total", "told"),
    [("1500000", "3000000", "1,500,000 of 3,000,000"), ("6", "6", "6 of 6"), ("0.5", None, "0.5 of ?")],
)
def test_progress_is_told_in_plain_numbers(desk: Desk, done: str, total: str | None, told: str) -> None:
    desk.push("a")
    desk.client.hset(desk.keys.task("a"), mapping={"pr": done} | ({} if total is None else {"to": total}))
    (line,) = [line for line in queue("show", "a").splitlines() if line.startswith("progress")]
    assert line.endswith(f"  {told}")


def test_what_is_not_there_is_status_1(desk: Desk) -> None:
    assert failing("show", "nobody") == (1, "There is no task 'nobody'.")


def test_why_a_task_that_is_not_there_does_not_run_is_told_and_status_1(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    out = StringIO()
    with pytest.raises(SystemExit, match="1"):
        call_command("queue", "why", "nobody", stdout=out)
    assert "No task has this id" in out.getvalue()
    with pytest.raises(SystemExit, match="1"):
        call_command("queue", "why", "nobody", "--json", stdout=out)


def test_a_filter_that_found_nothing_says_which_of_its_values_no_task_has(desk: Desk) -> None:
    desk.push("a", name="shop.charge")
    assert queue("list", "--name", "shop.chrage").splitlines()[-1] == (
        "No task has the name 'shop.chrage'; did you mean 'shop.charge'?"
    )
    assert queue("list", "--name", "shop.charge", "--state", "failed").splitlines()[-1] == "0 of 0"
    assert queue("list", "--tag", "x").splitlines()[-1] == "No task has the tag 'x'; there are none"


def test_a_name_among_very_many_is_not_said_to_be_unknown(desk: Desk) -> None:
    for number in range(60):
        desk.push(f"t{number}", name=f"shop.job{number}")
    for number in range(60):
        assert queue("list", "--name", f"shop.job{number}", "--state", "failed").splitlines()[-1] == "0 of 0"


def test_a_pool_that_was_never_used_is_no_empty_list(desk: Desk) -> None:
    desk.push("a")
    assert failing("list", "--pool", "defalt") == (1, "There is no pool 'defalt'; did you mean 'default'?")
    assert "0 of" in queue("list", "--pool", "default", "--state", "failed")


def test_a_pool_that_was_never_used_is_not_followed(desk: Desk) -> None:
    desk.push("a")
    assert failing("tail", "--pool", "defualt", "--seconds", "0.1") == (
        1,
        "There is no pool 'defualt'; did you mean 'default'?",
    )


def test_a_question_is_asked_aside_of_the_answer(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.push("a", "b")
    monkeypatch.setattr("sys.stdin", StringIO("y\n"))
    (one, other) = queue_json("cancel", "--state", "pending")
    assert (one["word"], other["word"]) == ("OK", "OK")
    asked = capsys.readouterr()
    assert "[y/N]" in asked.err
    assert "[y/N]" not in asked.out


def test_verbs_act_on_ids(desk: Desk) -> None:
    desk.push("a")
    assert queue_json("postpone", "a", "--delay", "60")[0]["state"] == "postponed"
    assert queue_json("run-now", "a")[0]["state"] == "pending"
    assert queue_json("cancel", "a", "--reason", "no")[0]["state"] == "cancelled"
    assert queue_json("retry", "a")[0]["state"] == "pending"
    queue("cancel", "a")
    assert queue_json("delete", "a")[0]["word"] == "OK"


def test_what_is_refused_is_printed_and_is_status_1(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.push("a", "b")
    queue("cancel", "b")
    out = StringIO()
    with pytest.raises(SystemExit) as raised:
        call_command("queue", "delete", "a", "b", "--yes", stdout=out)
    assert raised.value.code == 1
    assert "delete is not possible while it is pending" in out.getvalue()
    assert "1 of 2 done" in out.getvalue()


def test_a_filter_acts_on_all_that_match_once_it_is_confirmed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for start in (0, 400):
        desk.push(*[f"t{number}" for number in range(start, start + 400)], name="add")
    desk.push("other", name="mul")
    monkeypatch.setattr("builtins.input", lambda _: "n")
    assert failing("cancel", "--name", "add") == (1, "Nothing was done.")
    assert len(queue_json("cancel", "--name", "add", "--yes")) == 800
    assert desk.state("other") == "pending"
    assert "No task matches." in queue("cancel", "--name", "add", "--state", "pending", "--yes")


@pytest.mark.parametrize(
    "words",
    [
        ("cancel",),
        ("cancel", "a", "--name", "add"),
        ("list", "--state", "pendign"),
        ("list", "--after", "nonsense!"),
        ("postpone", "a", "--delay", "-5"),
        ("pause", "no lane"),
        ("pause", "default", "--pool", "typo"),
    ],
)
def test_a_wrong_call_is_status_2(desk: Desk, words: tuple[str, ...]) -> None:
    assert failing(*words)[0] == 2


def test_many_without_yes_and_without_a_person_is_status_2(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.push("a", "b")
    monkeypatch.setattr("sys.stdin", StringIO())
    assert failing("cancel", "a", "b") == (2, "No terminal can answer the question; add --yes.")


def test_ctrl_c_at_the_question_is_a_sentence_and_does_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(question: str) -> str:
        raise KeyboardInterrupt

    desk.push("a", "b")
    monkeypatch.setattr("builtins.input", leave)
    assert failing("cancel", "--state", "pending") == (
        130,
        "Interrupted. What was sent before that is done, and in the audit log.",
    )
    assert desk.states("a", "b") == ["pending", "pending"]


def test_lanes_are_paused_and_resumed(desk: Desk) -> None:
    desk.push("a")
    assert queue("pause", "default").strip() == "The lane default of the pool default is paused; it was running before."
    assert "mend it: manage.py queue resume default --pool default" in queue("why", "a")
    assert queue_json("resume", "default")["before"] == {"paused": "1"}


def test_a_lane_that_is_not_there_is_status_1(desk: Desk) -> None:
    status, text = failing("pause", "typo")
    assert (status, text) == (
        1,
        "The pool default has no lane 'typo'; known are: default; with --new it is made.",
    )
    assert queue_json("status")["lanes"] == []


def test_a_list_says_how_many_match_in_all(desk: Desk) -> None:
    desk.push("a", "b", "c", name="add")
    desk.push("d", "e", name="mul", lane="side")
    assert "2 of 5" in queue("list", "--limit", "2")
    assert "2 of 3\n" in queue("list", "--limit", "2", "--name", "add", "--state", "pending")
    assert "2 of 5\n" in queue("list", "--limit", "2", "--kind", "task")
    assert "2 of 2\n" in queue("list", "--limit", "2", "--lane", "side")
    assert "2 of at most 2\n" in queue("list", "--limit", "2", "--lane", "side", "--name", "mul")


def test_a_list_has_a_number_under_failed_only_where_an_attempt_failed(desk: Desk) -> None:
    desk.push("good", "bad", retries=2)
    for outcome in (Outcome.SUCCESS, Outcome.ERROR):
        desk.settle(desk.lease(), outcome, delay_ms=-1)
    listed = queue("list")
    assert "FAILED" in listed
    assert "1 of 3" in listed
    assert "0 of 3" not in listed


def test_a_lane_is_paused_and_limited_before_its_first_task(desk: Desk) -> None:
    assert queue("pause", "import", "--new").strip().endswith("is paused; it was not there before.")
    queue("set-lane", "import", "--new", "--limit", "2")
    desk.push("a", lane="import")
    assert desk.claim() == []
    assert queue_json("resume", "import")["before"] == {"paused": "1", "limit": "2"}
    assert len(desk.claim()) == 1


def test_what_every_command_of_django_takes_may_stand_behind_the_subcommand() -> None:
    parser = Command().create_parser("manage.py", "queue")
    words = ["--settings", "shop.settings", "--pythonpath", "src", "--traceback", "--no-color", "-v", "0"]
    for line in ([*words, "list", "--limit", "5"], ["list", *words, "--limit", "5"], ["list", "--limit", "5", *words]):
        given = parser.parse_args(line)
        assert (given.limit, given.settings, given.pythonpath, given.verbosity) == (5, "shop.settings", "src", 0)
        assert (given.traceback, given.no_color, given.force_color) == (True, True, False)


def test_the_options_of_all_subcommands_are_made_once() -> None:
    parsers: list[Any] = [Command().create_parser("manage.py", "queue") for _ in range(2)]
    made = [
        option
        for parser in parsers
        for subcommands in parser._subparsers._group_actions
        for subcommand in subcommands.choices.values()
        for option in subcommand._actions
        if "--json" in option.option_strings
    ]
    assert len(made) > 50
    assert len({id(option) for option in made}) == 1


def test_an_unreachable_store_is_a_sentence_and_status_1(settings: Any) -> None:
    settings.QUEUEOPS = {"URL": "redis://127.0.0.1:1/0", "RETRY": {"attempts": 1}}
    status, text = failing("status")
    assert status == 1
    assert "did not answer" in text


def test_tail_tells_what_happens_while_it_follows(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    out, clock = StringIO(), SimpleNamespace(monotonic=time.monotonic)
    monkeypatch.setattr(events, "time", clock)
    words = ("queue", "tail", "--json", "--seconds", "600", "--name", "add")
    follower = threading.Thread(target=call_command, args=words, kwargs={"stdout": out})
    follower.start()
    wait_until(lambda: desk.client.exists(desk.keys.tail))
    for garbage in (b"garbage", b"\xff", b"[1]", b"null", b'{"t": [1], "name": 1}'):  # by any program
        desk.client.publish(desk.keys.events, garbage)
    desk.push("other", name="mul")
    desk.push("a", name="add")
    wait_until(lambda: out.getvalue(), say=out.getvalue)
    assert follower.is_alive()
    clock.monotonic = lambda: time.monotonic() + 600
    follower.join()
    (event,) = [json.loads(line) for line in out.getvalue().splitlines()]
    assert (event["id"], event["before"], event["after"], event["pool"]) == ("a", "", "pending", "default")


def test_nothing_is_published_when_nobody_follows(desk: Desk) -> None:
    pubsub = desk.client.pubsub(ignore_subscribe_messages=True)
    pubsub.subscribe(desk.keys.events)
    pubsub.get_message(timeout=1)
    desk.push("a")
    assert pubsub.get_message(timeout=0.2) is None
    pubsub.close()


@pytest.mark.parametrize("text", ["-3", "nan", "inf", "soon", "86401"])
@pytest.mark.parametrize("words", [("runworker", "--grace"), ("queue", "tail", "--seconds")])
def test_seconds_out_of_bounds_are_refused_by_name(words: tuple[str, ...], text: str) -> None:
    with pytest.raises(CommandError, match=f"'{text}' is not a number of seconds from 0 to 86,400"):
        call_command(*words, text) if words[0] == "runworker" else call_command(*words[:2], f"{words[2]}={text}")


def test_the_screen_is_never_obeyed_by_what_is_on_it() -> None:
    assert printable("a\x1b]0;x\x07\u202eb\ud800\n") == "a\\x1b]0;x\\x07\\u202eb\\ud800\\n"
    assert printable("a\nb", lines=True) == "a\nb"
    assert table(("A", "B"), [("x" * 100, None)]).splitlines()[1].startswith("x" * 59 + "…")
    assert moment(0) == ""


def test_a_time_tells_its_offset(settings: Any) -> None:
    settings.TIME_ZONE = "Asia/Kolkata"
    assert moment(1_700_000_000_123) == "2023-11-15 03:43:20.123+05:30"
