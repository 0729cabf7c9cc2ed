"""Encrypted values that are closed, long or moved: schedules without their key, errors in lists, misplaced values."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from functools import partial
from io import StringIO
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command
from django.test import RequestFactory
from django.views.debug import ExceptionReporter, get_default_exception_reporter_filter

from queueops import conf, control, inspect, schedules
from queueops.checks import check_environment
from queueops.errors import NotDecodable
from queueops.errors.schedules import ScheduleNotStored
from queueops.inspect import TaskQuery
from queueops.model.encryption import MARK, BadKey, Keyring, keyring
from queueops.redis.broker import close_brokers, get_broker
from queueops.tasks.declared_schedules import define
from queueops.testing import run_worker
from queueops.watchdog.schedule_firing import ScheduleFiring
from tests.redis import encrypted_work as work
from tests.redis.encrypted_work import MARKER, marked
from tests.redis.test_encryption import found_in
from tests.redis.test_encryption_rollout import minutes_later

KEYS = [Fernet.generate_key().decode() for _ in range(2)]


@pytest.fixture
def use(namespace: str, settings: Any) -> Callable[..., None]:
    """Sets the keys; the first one is set."""

    def these(*keys: str) -> None:
        close_brokers()
        settings.QUEUEOPS = settings.QUEUEOPS | {"ENCRYPTION": list(keys)}

    these(KEYS[0])
    return these


@pytest.mark.parametrize("keys", [(KEYS[1],), ()], ids=["another key", "no key"])
def test_a_schedule_without_its_key_is_neither_overwritten_nor_resumed_but_can_be_deleted(use, keys):
    made = schedules.Schedule("0 0 1 1 *", args=(marked("tick"),))
    schedules.create(work.echo, made, id="closed")
    schedules.pause("closed")
    before = get_broker().schedule("default", "closed")
    use(*keys)
    for act in (partial(schedules.resume, "closed"), partial(schedules.update, "closed", made, task=work.echo)):
        with pytest.raises(NotDecodable, match="or delete the schedule"):
            act()
    declared = define(work.echo, schedules.Schedule("* * * * *"), "closed", source="code", origin="shop.settings")
    with pytest.raises(ScheduleNotStored, match="lacks its key"):
        ScheduleFiring(get_broker(), lambda: [declared], "shop.settings").begin("default")
    use(KEYS[0])
    assert get_broker().schedule("default", "closed") == before
    assert schedules.resume("closed")
    assert get_broker().schedule("default", "closed").due_ms
    use(*keys)
    assert schedules.delete("closed")


def test_lists_decrypt_long_errors_of_tasks_and_of_chunks(use):
    failed, chunked = work.fails_long.push(), work.LongErrors.push()
    run_worker()
    (row,) = (each for each in inspect.tasks(TaskQuery()).rows if each.id == failed.id)
    (chunk,) = inspect.chunks(chunked.id).rows
    (kind,) = inspect.chunks_of(chunked.id).errors
    shown = (
        row.error.partition(": ")[2],
        chunk.error.message,
        kind.failure.message,
        inspect.task(failed.id).error.message,
    )
    assert [each[:100] for each in shown] == [work.LONG[:100]] * 4


@pytest.mark.django_db
def test_a_search_says_what_it_cannot_see(use, admin_client, capsys):
    filters = {
        "text:x": "Arguments", "x": "", "error:boom": "Messages", "(error:boom or tag:a)": "Messages",
        "-error:boom": "Messages", "error:0123456789abcdef": "", "name:a": "", "": "",
    }  # fmt: skip
    for keys in ((KEYS[0],), ()):
        use(*keys)
        for text, kind in filters.items():
            told = inspect.unseen(inspect.parse_filter(text)) if text else inspect.unseen(TaskQuery())
            assert [each.partition(" ")[0] for each in told] == ([kind] if keys and kind else []), text
            assert (
                "in the store: " in admin_client.get("/ops/tasks/", {"q": text}, follow=True).content.decode()
            ) == bool(told)
        for command in (["list"], ["count"], ["export"]):
            call_command("queue", *command, "--filter", "text:x")
            assert ("are encrypted in the store" in capsys.readouterr().err) == bool(keys), command
        call_command("queue", "runs", "--status", "waits")
        assert ("Statuses of runs are encrypted" in capsys.readouterr().err) == bool(keys)
        page = admin_client.get("/ops/workflows/", {"status": "waits"}).content.decode()
        assert ("Statuses of runs are encrypted" in page) == bool(keys)


@pytest.mark.django_db
def test_long_arguments_of_an_edit_are_shown_in_the_log_and_encrypted_by_rotation(use, redis_client, namespace):
    use()
    clear = work.echo.push(marked("clear"))
    assert control.edit_and_retry(clear.id, [marked("new")], {}).word == "OK"
    use(KEYS[0])
    edited = work.echo.push(marked("before"), "a" * 25_000)
    assert control.edit_and_retry(edited.id, [marked("after"), "b" * 4_000], {}).word == "OK"
    told = repr(inspect.task(edited.id).log)
    assert "(encrypted)" not in told
    assert told.count(MARKER) == 2
    minutes_later(redis_client, namespace)
    call_command("queue", "reencrypt", stdout=StringIO())
    assert not found_in(redis_client)
    assert MARKER in repr(inspect.task(clear.id).log)


def test_a_value_that_was_put_in_the_place_of_a_text_is_not_shown(use, redis_client):
    handle = work.echo.push(marked("moved"))
    key = get_broker().keys("default").task(handle.id)
    token = re.search(rb"gAAAA[\w-]+=*", redis_client.hget(key, "a"))[0]
    for each in (token, Fernet(KEYS[0]).encrypt(b"no JSON")):
        redis_client.hset(key, "y", b"qe1:" + each)
        assert inspect.task(handle.id).reason == "(encrypted)"


def test_backslashes_are_read_once_and_not_once_for_each_of_them():
    """Else this takes many minutes."""
    text = b'["%b%b"]' % (b"\\" * 500_000, MARK)
    assert Keyring(KEYS).open(text) == text


@pytest.mark.django_db
def test_another_store_is_rotated_with_its_keys_and_without_the_tables_of_the_project(
    use, redis_client, namespace, settings
):
    def other(*keys: str) -> dict[str, Any]:
        close_brokers()
        return {"STORES": {"eu": {"NAMESPACE": f"{namespace}-eu", "ENCRYPTION": list(keys)}}}

    use()
    settings.QUEUEOPS = settings.QUEUEOPS | other(KEYS[0])
    with conf.in_store("eu"):
        handle = work.echo.push(marked("eu"))
    settings.QUEUEOPS = settings.QUEUEOPS | other(KEYS[1], KEYS[0])
    minutes_later(redis_client, f"{namespace}-eu")
    out = StringIO()
    call_command("queue", "--store", "eu", "reencrypt", "--json", stdout=out)
    told = json.loads(out.getvalue())
    assert (told["changed"], told["current"], told["old"], told["rows"]) == (1, 1, 0, 0)
    settings.QUEUEOPS = settings.QUEUEOPS | other(KEYS[1])
    with conf.in_store("eu"):
        assert MARKER in inspect.task(handle.id).args_json


def test_reports_of_errors_show_no_key_with_the_filter_that_a_check_names(use, settings):
    assert KEYS[0] not in repr((conf.current().encryption, conf.current()))
    (told,) = [each for each in check_environment() if each.id == "queueops.W007"]
    assert KEYS[0] in text_of_report()
    settings.DEFAULT_EXCEPTION_REPORTER_FILTER = told.hint.split("'")[1]
    assert not [each for each in check_environment() if each.id == "queueops.W007"]
    assert KEYS[0] not in text_of_report()


def text_of_report() -> str:
    """What Django mails to ADMINS of an error in the settings."""
    get_default_exception_reporter_filter.cache_clear()
    try:
        keyring(("no key",))
    except BadKey:
        request = RequestFactory().get("/")
        reporter = ExceptionReporter(request, *sys.exc_info(), is_email=True)
        return reporter.get_traceback_text() + reporter.get_traceback_html()
    finally:
        get_default_exception_reporter_filter.cache_clear()
    raise AssertionError("not raised")
