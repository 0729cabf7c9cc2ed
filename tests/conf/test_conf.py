"""Settings: read once, in their final types, and every mistake told with what to write instead."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from queueops import conf
from queueops.errors import BadSetting, UnknownSetting
from tests.support.for_each import for_each


def read(**raw: Any) -> conf.Settings:
    """The settings, which must be right."""
    settings, errors = conf.read_settings(raw, {})
    assert errors == []
    return settings


def complaint(**raw: Any) -> str:
    """The one thing that is wrong."""
    (error,) = conf.read_settings(raw, {})[1]
    return str(error)


def test_the_defaults_are_the_documented_ones() -> None:
    settings = read()
    assert settings.url.startswith("embedded:")
    assert settings.url.endswith("var/queueops")
    assert settings.namespace == "queueops"
    assert settings.payload_limit == 1024 * 1024
    assert settings.retention == {"succeeded": 86400, "failed": 14 * 86400, "cancelled": 86400}
    assert (settings.lease, settings.max_crashes, settings.grace) == (30, 3, 25)
    assert "password" in settings.redact


def test_the_embedded_directory_does_not_depend_on_where_a_process_starts(settings: Any, tmp_path: Any) -> None:
    settings.BASE_DIR = tmp_path
    assert read().url == f"embedded:{tmp_path}/var/queueops"
    assert read(URL="embedded:here").url == f"embedded:{tmp_path}/here"
    assert read(URL="embedded:/there").url == "embedded:/there"


def test_the_environment_wins_over_the_url_of_the_settings() -> None:
    found, _ = conf.read_settings({"URL": "redis://a"}, {"QUEUEOPS_URL": "redis://b"})
    assert found.url == "redis://b"


def test_a_wrong_url_in_the_environment_is_told_as_the_variable_that_it_is() -> None:
    (error,) = conf.read_settings({"URL": "redis://a"}, {"QUEUEOPS_URL": "radis://u:hunter2@b"})[1]
    assert str(error) == (
        "The environment variable QUEUEOPS_URL is 'radis://u:***@b', but it must be a URL that begins with redis:."
    )


def test_durations_are_seconds_or_timedeltas() -> None:
    assert read(LEASE=timedelta(minutes=1)).lease == 60.0
    assert read(RETENTION={"failed": timedelta(days=1)}).retention["failed"] == 86400.0


def test_what_a_retention_does_not_name_keeps_its_default() -> None:
    assert read(RETENTION={"failed": 60}).retention == {"succeeded": 86400, "failed": 60, "cancelled": 86400}


def test_a_pool_that_is_not_declared_has_the_defaults() -> None:
    settings = read(POOLS={"mail": {"timeout": 5, "lanes": {"slow": {"limit": 2}}}})
    assert settings.pool("mail").timeout == 5
    assert settings.pool("mail").lanes["slow"] == conf.LaneSettings(limit=2)
    assert settings.pool("other") == conf.PoolSettings()


@for_each(
    ("raw", "message"),
    [
        ({"URI": "x"}, "There is no setting QUEUEOPS['URI']; did you mean 'URL'?"),
        (
            {"POOLS": {"mail": {"lanes": {"a": {"limt": 3}}}}},
            "There is no setting QUEUEOPS['POOLS']['mail']['lanes']['a']['limt']; did you mean 'limit'?",
        ),
        (
            {"POOLS": {"mail": {"retries": -1}}},
            "The setting QUEUEOPS['POOLS']['mail']['retries'] is -1, but it must be a whole number of at least 0.",
        ),
        (
            {"LEASE": "long"},
            "The setting QUEUEOPS['LEASE'] is 'long', but it must be "
            "a number of seconds or a timedelta, from 0.1 to 86,400.",
        ),
        (
            {"RETENTION": {"failed": 1e300}},
            "The setting QUEUEOPS['RETENTION']['failed'] is 1e+300, but it must be "
            "a number of seconds or a timedelta, from 0 to 316,224,000.",
        ),
        ({"url": "redis://h"}, "There is no setting QUEUEOPS['url']; did you mean 'URL'?"),
        (
            {"URL": "redis://:6379/0"},
            "The setting QUEUEOPS['URL'] is 'redis://:6379/0', but it must be "
            '"redis://" and a host, such as "redis://127.0.0.1:6379/0".',
        ),
        (
            {"URL": "redis://app:se/cret@h:6379/0"},
            "The setting QUEUEOPS['URL'] is 'redis://app:***@h:6379/0', but it must be "
            "a URL in whose password a / is written as %2F, a ? as %3F and a # as %23.",
        ),
        (
            {"RETENTION": {"done": 3}},
            "There is no setting QUEUEOPS['RETENTION']['done']; known are: cancelled, failed, succeeded",
        ),
        (
            {"POOLS": {"p" * 101: {}}},
            f"The setting QUEUEOPS['POOLS'] is {{'{'p' * 101}': {{}}}}, but it must be "
            "named with 1 to 100 letters, digits and any of . _ : @ / = + -.",
        ),
        (
            {"CONNECT": {"socket_timout": 1}},
            "There is no setting QUEUEOPS['CONNECT']['socket_timout']; did you mean 'socket_timeout'?",
        ),
        (
            {"CONNECT": {"retry": 3}},
            "The setting QUEUEOPS['CONNECT']['retry'] is 3, but it must be left out: "
            "QUEUEOPS['RETRY'] says how often a call is repeated.",
        ),
        (
            {"CONNECT": {"socket_timeout": "1"}},
            "The setting QUEUEOPS['CONNECT']['socket_timeout'] is '1', but it must be "
            "a number of seconds or a timedelta, from 0.001 to 86,400.",
        ),
        ({"READ_ONLY": "no"}, "The setting QUEUEOPS['READ_ONLY'] is 'no', but it must be True or False."),
        (
            {"ENVIRONMENT": {"name": "production", "color": "pink"}},
            "The setting QUEUEOPS['ENVIRONMENT']['color'] is 'pink', but it must be "
            'one of "red", "orange", "yellow", "green", "blue", "purple", "grey".',
        ),
        (
            {"ENVIRONMENT": {"color": "red"}},
            "The setting QUEUEOPS['ENVIRONMENT'] is {'color': 'red'}, but it must be "
            'a dict with a "name", and perhaps a "color".',
        ),
        (
            {"ENVIRONMENT": {"name": " "}},
            "The setting QUEUEOPS['ENVIRONMENT']['name'] is ' ', but it must be "
            "a text of 1 to 40 printable characters.",
        ),
        (
            {"METRICS_TOKEN": "short"},
            "The setting QUEUEOPS['METRICS_TOKEN'] is [redacted], but it must be "
            "a text of 16 or more letters, digits and signs, without spaces.",
        ),
        (
            {"TASK_MODULES": "background"},
            "The setting QUEUEOPS['TASK_MODULES'] is 'background', but it must be "
            'a list of modules within each app, such as ["tasks", "jobs.background"].',
        ),
        (
            {"TASK_MODULES": ["jobs/background.py"]},
            "The setting QUEUEOPS['TASK_MODULES'] is ['jobs/background.py'], but it must be "
            'a list of modules within each app, such as ["tasks", "jobs.background"]; '
            "'jobs/background.py' is not the name of a module, without the app and without .py.",
        ),
        ({"MIDDLEWARE": "a.B"}, "The setting QUEUEOPS['MIDDLEWARE'] is 'a.B', but it must be a list of texts."),
        ({"POOLS": 3}, "The setting QUEUEOPS['POOLS'] is 3, but it must be a dict with texts as keys."),
        (
            {"NAMESPACE": "a{b}"},
            "The setting QUEUEOPS['NAMESPACE'] is 'a{b}', but it must be 1 to 50 letters, digits and any of . _ -.",
        ),
        (
            {"URL": "radis://h"},
            "The setting QUEUEOPS['URL'] is 'radis://h', but it must be a URL that begins with redis:.",
        ),
    ],
)
def test_a_mistake_is_told_with_what_to_write_instead(raw: dict[str, Any], message: str) -> None:
    assert complaint(**raw) == message


@for_each(
    "url",
    [
        "redi://user:hunter2@host",
        "redis://:hunter2@",
        "rediss://user:hunter2@:6379/1",
        "valkey://:hunter2@",
        "valkeys://user:hunter2@:6379/1",
        "valkey+cluster://u:hun/ter2@h",
    ],
)
def test_a_wrong_url_is_told_without_its_password(url: str) -> None:
    assert "ter2" not in complaint(URL=url)


@for_each(
    "url",
    [
        "redis://h",
        "redis://:pw@h/1",
        "redis://u:p@[::1]:6379?db=1",
        "redis://[::1]:6379?password=a@b",
        "rediss://h:1",
        "valkey://u:p@h/1",
        "valkeys://h:1",
        "valkey+sentinel://a,b/mine",
        "valkeys+cluster://a,b",
    ],
)
def test_a_url_with_a_host_is_taken(url: str) -> None:
    assert read(URL=url).url == url


@pytest.mark.parametrize("key", ["LEASE", "GRACE", "UNKNOWN_AFTER"])
def test_no_duration_is_without_an_end(key: str) -> None:
    assert "seconds" in complaint(**{key: 1e300})
    assert "seconds" in complaint(**{key: float("nan")})


def test_an_option_that_must_be_left_out_is_not_offered() -> None:
    offered = complaint(CONNECT={"zzzzz": 1})
    assert "known are: client_name, credential_provider" in offered
    assert "decode_responses" not in offered


def test_true_is_no_number() -> None:
    assert "a whole number" in complaint(PAYLOAD_LIMIT=True)


def test_all_mistakes_are_told_at_once_and_the_rest_is_read() -> None:
    settings, errors = conf.read_settings({"LEASE": -1, "GRASE": 1, "GRACE": 7}, {})
    assert [type(error) for error in errors] == [BadSetting, UnknownSetting]
    assert settings.grace == 7


def test_settings_that_are_no_dict_are_told() -> None:
    assert [str(error) for error in conf.read_settings([], {})[1]] == [
        "The setting QUEUEOPS is [], but it must be a dict."
    ]


def test_the_current_settings_follow_a_change_in_a_test(settings: Any) -> None:
    settings.QUEUEOPS = {"GRACE": 3}
    assert conf.current().grace == 3
    settings.QUEUEOPS = {"GRACE": "soon"}
    with pytest.raises(BadSetting):
        conf.current()


def test_settings_cannot_be_changed_in_place() -> None:
    with pytest.raises(AttributeError):
        read().lease = 3  # type: ignore[misc]
