"""Logs: one line an event, in text or JSON, without secrets."""

from __future__ import annotations

import copy
import io
import json
import logging
import logging.config
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import console
import queueops
from console.project import settings as project
from queueops.errors import BadOption
from queueops.log_filter import TaskFilter
from queueops.logs import OURS, JsonFormatter, TextFormatter, configure
from queueops.model.contracts import Lease
from queueops.tasks.context import Context, enter, leave


def record(message: str, *arguments: object, error: BaseException | None = None, **extra: Any) -> logging.LogRecord:
    made = logging.LogRecord("queueops.worker", logging.INFO, __file__, 1, message, arguments, None)
    made.created = 1767268800.123
    if error is not None:
        made.exc_info = (type(error), error, error.__traceback__)
    vars(made).update(extra)
    return made


def as_json(*arguments: Any, **extra: Any) -> dict[str, Any]:
    line = JsonFormatter().format(record(*arguments, **extra))
    assert "\n" not in line
    found: dict[str, Any] = json.loads(line)
    return found


def caught() -> BaseException:
    try:
        raise ValueError("bad\nnews")
    except ValueError as error:
        return error


def test_a_text_line_has_time_level_name_message_and_what_was_added() -> None:
    line = TextFormatter().format(record("task %s failed", "7", attempt=2, reason="no luck", empty=""))
    assert line == ('2026-01-01T12:00:00.123Z INFO queueops.worker task 7 failed attempt=2 reason="no luck" empty=""')


def test_a_traceback_and_a_hostile_message_stay_on_one_line() -> None:
    line = TextFormatter().format(record("a\r\nb \x1b[31mred", error=caught()))
    assert "\n" not in line
    assert "\x1b" not in line
    assert "a\\r\\nb" in line
    assert "ValueError: bad\\nnews" in line


def test_a_json_line_is_an_object_with_the_same() -> None:
    event = as_json("task %s failed", "7", attempt=2, error=caught(), what={1})
    assert event["message"] == "task 7 failed"
    assert (event["time"], event["level"], event["attempt"]) == ("2026-01-01T12:00:00.123Z", "INFO", 2)
    assert event["exception"].startswith("Traceback")
    assert event["what"] == "{1}"


def test_what_the_message_says_already_is_in_json_alone() -> None:
    said = {"task": "7", "attempt": 2, "level": "x", "error": "redis://u:hunter2@h/0"}
    assert TextFormatter().format(record("task 7 failed", told=said)).endswith("queueops.worker task 7 failed")
    event = as_json("task 7 failed", told=said, more=1)
    assert (event["task"], event["attempt"], event["level"], event["more"]) == ("7", 2, "INFO", 1)
    assert "told" not in event
    assert "hunter2" not in event["error"]
    assert as_json("odd", told="text")["message"] == "odd"


def test_what_is_added_cannot_replace_what_is_standard() -> None:
    assert as_json("x", level="forged")["level"] == "INFO"


def test_passwords_are_in_neither() -> None:
    hidden = record("lost redis://u:hunter2@h", url="redis://u:hunter2@h")
    assert "hunter2" not in TextFormatter().format(hidden) + JsonFormatter().format(hidden)


def test_a_line_has_an_end() -> None:
    assert len(TextFormatter().format(record("x" * 100_000))) <= 16_000
    assert len(as_json("x" * 100_000)["message"]) <= 16_000


def test_configure_sends_json_to_stderr() -> None:
    code = "import logging; from queueops.logs import configure; configure('json'); logging.info('hello')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert json.loads(done.stderr)["message"] == "hello"
    assert done.stdout == ""


def test_an_unknown_format_is_told() -> None:
    with pytest.raises(BadOption, match="text or json"):
        configure("xml")


SECRET = "hunter2"
HOSTILE = f"redis://u:{SECRET}@h\r\n2026-01-01 ERROR forged\x9b31m\u2028\x85\u202e"


def plain_line(*arguments: Any, **more: Any) -> str:
    """A line of the worker's logger, as a project with a formatter of its own writes it."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logger = logging.getLogger("queueops.worker")
    logger.addHandler(handler)
    try:
        logger.warning(*arguments, **more)
    finally:
        logger.removeHandler(handler)
    return stream.getvalue()


def test_our_lines_are_masked_and_stay_one_line_in_a_format_of_the_project_too() -> None:
    for line in (
        plain_line("Task %s waits after %d: %s", "a\nb", 3, ValueError(HOSTILE)),
        plain_line("Task %(id)s waits after 3: %(why)s", {"id": "a\nb", "why": HOSTILE}),
        plain_line(f"Task a\nb waits after 3: {HOSTILE}"),
    ):
        assert line.startswith("WARNING Task a\\nb waits after 3: redis://u:***@h")
        assert len(line.splitlines()) == 1
        assert "\u202e" not in line


def test_a_traceback_is_masked_in_a_format_of_the_project_too() -> None:
    error = ValueError(f"password={SECRET}")
    line = plain_line("It failed: %s", "x", exc_info=(type(error), error, None))
    assert "ValueError: password=[redacted]" in line
    assert SECRET not in line


def test_error_trackers_still_group_by_the_text_of_the_message() -> None:
    heard: list[logging.LogRecord] = []

    class Tracker(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            heard.append(record)

    tracker = Tracker()
    logger = logging.getLogger("queueops.worker")
    logger.addHandler(tracker)
    logger.warning("Task %s failed %d times", "7", 3)
    logger.removeHandler(tracker)
    assert (heard[0].msg, heard[0].args) == ("Task %s failed %d times", ("7", 3))


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_a_hostile_text_is_one_line_for_each_reader(formatter: logging.Formatter) -> None:
    line = formatter.format(record("task %s", HOSTILE, what=HOSTILE, token=SECRET))
    assert len(line.splitlines()) == 1
    assert SECRET not in line
    assert not any(sign in line for sign in "\x9b\u2028\x85\u202e\x1b")


def test_what_is_added_is_masked_by_its_name() -> None:
    assert as_json("x", api_key=SECRET, told={"Api-Token": 5})["api_key"] == "[redacted]"
    assert as_json("x", told={"Api-Token": 5})["Api-Token"] == "[redacted]"


def test_a_line_is_masked_while_the_settings_are_wrong(settings: Any) -> None:
    settings.QUEUEOPS = {"REDACT": 5}
    assert SECRET not in TextFormatter().format(record(f"password={SECRET}"))


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter(), logging.Formatter("%(task)s %(root)s")])
def test_a_line_that_a_task_logs_has_its_id_and_that_of_its_root(formatter: logging.Formatter) -> None:
    made = record("hello")
    lease = Lease(id="child", fence=1, name="shop.mail", root="parent")
    token = enter(Context(lease, None, None))  # type: ignore[arg-type]
    try:
        assert TaskFilter().filter(made)
    finally:
        leave(token)
    line = formatter.format(made)
    assert "child" in line
    assert "parent" in line


def test_a_line_outside_of_tasks_has_neither_and_what_a_call_says_itself_stays() -> None:
    plain, own = record("hello"), record("hello", task="7")
    for each in (plain, own):
        TaskFilter().filter(each)
    assert TextFormatter().format(plain) == "2026-01-01T12:00:00.123Z INFO queueops.worker hello"
    assert not {"task", "root"} & set(json.loads(JsonFormatter().format(plain)))
    assert logging.Formatter("[%(task)s]%(message)s").format(plain) == "[]hello"
    assert TextFormatter().format(own).endswith("hello task=7")


def test_every_logger_of_queueops_is_masked() -> None:
    sources = [path for package in (queueops, console) for path in Path(package.__file__).parent.rglob("*.py")]
    asked = r'getLogger\(([^)]+)\)(?!")'  # an advice that names the call is none
    used = {name for path in sources for name in re.findall(asked, path.read_text())}
    theirs = {"name", "django.security.csrf", "queueops_demo"}
    assert {name.strip('"') for name in used} <= {*OURS, *theirs}


def test_the_stand_alone_project_writes_the_ids_of_the_task() -> None:
    stream, chosen = io.StringIO(), copy.deepcopy(project.LOGGING)
    chosen["handlers"]["stderr"]["stream"] = stream
    chosen["loggers"] = {"stand-alone": chosen.pop("root") | {"propagate": False}}
    logging.config.dictConfig(chosen)
    token = enter(Context(Lease(id="child", fence=1, root="parent"), None, None))  # type: ignore[arg-type]
    try:
        logging.getLogger("stand-alone").info("hello")
    finally:
        leave(token)
    assert "task=child root=parent" in stream.getvalue()
