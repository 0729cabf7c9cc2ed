"""`manage.py checkworkflows`: what it finds in the source, and in the histories of stored runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from queueops import wf
from queueops.inspect.spans import clock
from queueops.kinds.workflows.code_check.static_check import check_code
from queueops.kinds.workflows.steps import kept_runs
from queueops.redis.broker import get_broker
from queueops.tasks import registry
from queueops.testing import run_worker
from tests.workflows import checked_code
from tests.workflows.checked_code import imported, ordered, right, sets, wrong
from tests.workflows.test_blocked import behaviour, calls_other_first, changes, waits_then_flaky

MARK = "  # "
SAID = {
    "state of the module": "use local variables",
    "a clock": "wf.now()",
    "waits": "wf.sleep",
    "randomness": "wf.random()",
    "randomness, too": "wf.uuid4()",
    "a file by its path": "activity",
    "a folder": "activity",
    "input and output": "in an activity",
    "the environment": "in an activity",
    "a thread": "in an activity",
    "another thread": "in an activity",
    "a process": "in an activity",
    "the database": "in an activity",
    "a push": "wf.call(...)",
    "a push with options": "wf.call(...)",
    "a call": "wf.call(...)",
    "a call that is not awaited": "write await",
    "an import in the function": "wf.now()",
    "the order of a set": "sorted(...)",
    "in a helper": "wf.now()",
}


@pytest.fixture
def _histories(namespace: str) -> Iterator[None]:
    kept_runs.clear()
    behaviour.clear()
    yield
    behaviour.clear()
    kept_runs.clear()


def answer(*arguments: str) -> tuple[int, str]:
    """The exit status of the command, and what it prints."""
    out = StringIO()
    try:
        call_command("checkworkflows", *arguments, stdout=out)
    except SystemExit as end:
        return int(end.code or 0), out.getvalue()
    return 0, out.getvalue()


def test_each_place_is_found_with_its_line_and_what_to_use() -> None:
    with open(checked_code.__file__) as file:  # noqa: PTH123
        lines = file.read().splitlines()
    found = {}
    for finding in check_code("checked.wrong", wrong.handler.func):
        assert finding.path == checked_code.__file__
        found[lines[finding.line - 1].rpartition(MARK)[2]] = finding.advice
    assert found.keys() == SAID.keys()
    for place, words in SAID.items():
        assert words in found[place], place


def test_names_that_the_code_imported_are_found_too() -> None:
    with open(checked_code.__file__) as file:  # noqa: PTH123
        lines = file.read().splitlines()
    first = next(number for number, line in enumerate(lines) if "async def imported" in line)
    last = next(number for number, line in enumerate(lines) if '"checked.right"' in line)
    marked = {number for number in range(first, last) if MARK in lines[number]}
    marked |= {number for number, line in enumerate(lines) if "# in a function " in line}
    found = check_code("checked.imported", imported.handler.func)
    assert {finding.line - 1 for finding in found} == marked


def test_each_use_of_the_order_of_a_set_is_found() -> None:
    with open(checked_code.__file__) as file:  # noqa: PTH123
        lines = file.read().splitlines()
    found = check_code("checked.sets", sets.handler.func)
    assert [lines[finding.line - 1].rpartition(MARK)[2] for finding in found] == [
        *("a name", "an argument", "values as arguments", "a difference", "a list", "a dictionary")
    ]
    assert {finding.advice for finding in found} == {"the order of a set differs between processes: use sorted(...)"}


@pytest.mark.parametrize("code", [right, ordered])
def test_code_that_can_be_replayed_has_no_finding(code: Any) -> None:
    assert check_code(code.name, code.handler.func) == []


def test_the_command_tells_file_and_line_and_its_status() -> None:
    status, text = answer("checked.wrong", "--source-only")
    assert status == 1
    assert "checked_code.py:" in text.splitlines()[0]
    assert text.splitlines()[-1] == "20 findings in the source. 0 runs replayed, 0 differ."
    assert answer("checked.right", "--source-only")[0] == 0
    with pytest.raises(CommandError, match=r"No workflow is named 'wf\.none'"):
        answer("wf.none")


@pytest.mark.usefixtures("_histories")
def test_stored_histories_are_replayed_and_a_difference_is_told() -> None:
    behaviour["code"] = waits_then_flaky
    runs = [changes.start(), changes.start()]
    run_worker()
    runs[0].signal("go")
    run_worker()
    status, text = answer("wf.changes", "--json", "--ended")
    nothing = {"findings": [], "replays": [], "notes": [], "changed": 0, "left_out": {}}
    assert (status, json.loads(text)) == (0, nothing | {"replayed": 2})
    behaviour["code"] = calls_other_first
    status, text = answer("wf.changes", "--json")
    told: dict[str, Any] = json.loads(text)
    assert (status, told["replayed"]) == (1, 1)
    (replay,) = told["replays"]
    assert replay["run"] == runs[1].id
    assert "Done now: call number 1 wf.other" in replay["reason"]
    status, text = answer("wf.changes", "--ended")
    assert status == 1
    assert text.splitlines()[-1] == "0 findings in the source. 2 runs replayed, 2 differ."


@pytest.mark.usefixtures("_histories")
def test_runs_that_are_left_out_are_told() -> None:
    behaviour["code"] = waits_then_flaky
    for _ in range(3):
        changes.start()
    run_worker()
    status, text = answer("wf.changes", "--most", "1")
    assert (status, text.splitlines()[-1]) == (0, "Not replayed: 2 more of wf.changes. A larger --most replays them.")
    assert json.loads(answer("wf.changes", "--most", "1", "--json")[1])["left_out"] == {"wf.changes": 2}


@pytest.mark.usefixtures("_histories")
def test_a_timer_with_another_duration_is_a_note() -> None:
    behaviour["code"] = partial(sleeps, 60)
    run = changes.start()
    run_worker()
    behaviour["code"] = partial(sleeps, 3_660)
    status, text = answer("wf.changes")
    due = clock(run.history()[1].at_ms)
    told = f"default/{run.id}: wf.changes: note: timer number 1 stays due at {due}; this code sets it 1 h later"
    assert (status, text.splitlines()) == (0, [told, "0 findings in the source. 1 runs replayed, 0 differ."])
    status, text = answer("wf.changes", "--json")
    (noted,) = json.loads(text)["notes"]
    assert (status, noted["run"], noted["reason"], len(noted["notes"])) == (0, run.id, "", 1)


async def sleeps(seconds: float) -> str:
    """Waits for a time."""
    await wf.sleep(seconds)
    return "rested"


@pytest.mark.usefixtures("_histories")
def test_the_first_step_keeps_a_fingerprint_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    behaviour["code"] = waits_then_flaky
    run = changes.start()
    run_worker()
    assert run.history()[0].arguments_digest == changes.handler.fingerprint
    monkeypatch.setitem(vars(changes.handler), "fingerprint", "of another source")
    status, text = answer("wf.changes")
    assert (status, text.splitlines()[-1]) == (0, "1 of these runs began with other source.")


@pytest.mark.usefixtures("_histories")
def test_a_run_whose_workflow_is_not_in_the_code_is_a_finding() -> None:
    behaviour["code"] = waits_then_flaky
    changes.start()
    run_worker()
    registry.unregister("workflow", "wf.changes")
    try:
        status, text = answer("--pool", "default", "checked.right")
        assert status == 0
        status, text = answer("--json")
        assert "no workflow of this code has its name" in text
        assert status == 1
    finally:
        registry.register(changes.handler)


@pytest.mark.usefixtures("_histories")
@pytest.mark.parametrize(
    ("arguments", "said"), [(("--pool", "nopool"), "There is no pool 'nopool'"), (("--most", "0"), "at least 1")]
)
def test_a_check_of_no_runs_is_refused(arguments: tuple[str, ...], said: str) -> None:
    behaviour["code"] = waits_then_flaky
    changes.start()
    run_worker()
    with pytest.raises(CommandError, match=said):
        answer(*arguments)


@pytest.mark.usefixtures("_histories")
def test_runs_that_cannot_be_read_are_not_taken_for_fitting_ones() -> None:
    behaviour["code"] = waits_then_flaky
    changes.start()
    run_worker()
    client = get_broker().client
    (index,) = client.keys("*kind:workflow")
    client.set(index, "of other software")
    with pytest.raises(CommandError, match=r"kind:workflow"):
        answer()
