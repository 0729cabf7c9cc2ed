"""The setting ENCRYPTION with None as its first entry: values are written in clear, and the keys behind it decrypt."""

from __future__ import annotations

import time
from functools import partial
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from console.audit.log import new_entry
from console.models import AuditEntry
from queueops import chain, conf, group, inspect, jobs, schedules
from queueops.checks import check_environment, check_settings
from queueops.inspect.key_alarms import NOTED_S
from queueops.management.doctor import encrypted_values
from queueops.management.doctor.finding import FAIL, OK, WARN
from queueops.model.encryption import ids_of
from queueops.model.states import State
from queueops.redis.broker import get_broker
from queueops.redis.keys import libraries
from queueops.testing import run_worker
from tests.redis import encrypted_work as work
from tests.redis.encrypted_work import MARKER, marked
from tests.redis.test_encryption import KEYS, found_in, rotated
from tests.redis.test_encryption import encrypted as encrypted


def minutes_later(client, namespace):
    """What processes reported of their keys does not count any more."""
    client.delete(*libraries(namespace))


def test_a_process_that_only_decrypts_reads_what_others_encrypt_and_is_read_by_all(encrypted, redis_client):
    sealed, linked = work.echo.push(marked("sealed")), chain(work.echo.s(marked("first")), work.echo.s(2)).push()
    running, child = work.run.start(marked("run")), work.child.start(marked("child"))
    assert not found_in(redis_client)
    encrypted(None, KEYS[0])
    run_worker()
    running.signal("say", marked("signal"))
    clear, failed = work.echo.using(meta={"m": marked("meta")}).push(marked("clear")), work.fails.push("in clear")
    chunked, stepped = work.Chunked.push(marked("chunk")), work.Steps.push(marked("state"))
    run_worker()
    assert (sealed.result()[0], child.result()) == ([marked("sealed")], marked("child"))
    assert linked.status().state == stepped.status().state == State.SUCCEEDED
    encrypted()
    assert clear.result() == [[marked("clear")], {}, {"m": marked("meta")}]
    assert MARKER in inspect.task(failed.id).attempts[0].error.message
    assert chunked.result()[0] == marked("chunk") + "0"


@pytest.mark.django_db
def test_reencrypt_decrypts_all_values_so_that_the_setting_can_leave(encrypted, redis_client, namespace):
    waiting, ended = work.echo.push(marked("waiting"), delay=999), work.echo.push(marked("ended"))
    failed = work.fails.push(marked("of failing"))
    grouped, running = group(work.echo.s(marked("a")), work.echo.s(marked("b"))).push(), work.run.start(marked("run"))
    chunked, stepped = work.Chunked.push(marked("chunk")), work.Steps.push(marked("state"))
    jobs.submit(aggregation="a", handler="sealed.handles", url=f"http://a.example/{MARKER}", id="job")
    schedules.create(work.echo, schedules.Schedule("0 0 1 1 *", args=(marked("schedule"),)), id="clear")
    entry = new_entry("edit", "sealed", actor_name="a", before={"args": marked("audit")})
    run_worker()
    for _ in range(2):
        running.signal("say", marked("signal"))
    encrypted(None, KEYS[0])
    assert [each.level for each in encrypted_values.findings()] == [WARN]
    told = rotated("--dry-run")
    assert (told["changed"], told["clear"], told["current"], told["unknown"]) == (0, 0, 0, 0)
    assert told["old"] > 20
    minutes_later(redis_client, namespace)
    out = StringIO()
    call_command("queue", "reencrypt", stdout=out)
    assert " values were decrypted." in out.getvalue()
    assert out.getvalue().endswith("No value needs a key: the setting may be removed.\n")
    encrypted()
    assert [each.level for each in encrypted_values.findings()] == [OK]
    run_worker()
    assert [each[0] for each in grouped.result()] == [[marked("a")], [marked("b")]]
    assert ended.result()[0] == [marked("ended")]
    assert running.result(timeout=30)[0] == marked("run")
    assert chunked.result()[0] == marked("chunk") + "0"
    assert stepped.status().state == inspect.task("job").state == State.SUCCEEDED
    assert MARKER in inspect.task(waiting.id).args_json
    assert MARKER in inspect.task(failed.id).attempts[0].error.message
    assert MARKER in schedules.get("clear").args
    assert AuditEntry.objects.get(pk=entry.pk).before == {"args": marked("audit")}


@pytest.mark.django_db
def test_doctor_finds_encrypted_values_also_in_a_process_without_a_key(encrypted):
    work.echo.push(marked("sealed"), delay=999)
    encrypted()
    (found,) = encrypted_values.findings()
    assert (found.level, "1 are encrypted under a key that is missing" in found.seen) == (FAIL, True)
    assert rotated("--dry-run")["unknown"] == 1


def told_by_reencrypt(*arguments: str) -> str:
    """The last sentence of `queue reencrypt`, and its exit status."""
    out, status = StringIO(), 0
    try:
        call_command("queue", "reencrypt", *arguments, stdout=out)
    except SystemExit as error:
        status = error.code
    return f"{status} {out.getvalue().splitlines()[-1]}"


@pytest.mark.django_db
def test_reencrypt_does_not_say_that_keys_may_leave_while_a_value_or_a_worker_needs_one(
    encrypted, redis_client, namespace
):
    work.echo.push(marked("sealed"), delay=999)
    for keys in ([None, KEYS[1]], [KEYS[1]]):
        encrypted(*keys)
        minutes_later(redis_client, namespace)
        assert told_by_reencrypt().startswith("1 1 values need a key that is missing.")
    encrypted(KEYS[1], KEYS[0])
    minutes_later(redis_client, namespace)
    assert told_by_reencrypt("--pool", "default").startswith("0 Other pools, and tables of the databases, may have")
    assert "may leave the setting" in told_by_reencrypt()
    get_broker().beat("default", "w1", {"state": "live", "keys": ids_of(KEYS)[0], "host": "a", "pid": 7})
    assert told_by_reencrypt().startswith("1 1 worker has another first key (a process 7).")
    encrypted(None, KEYS[1])
    with pytest.raises(CommandError, match=r"1 worker encrypts \(a process 7\)"):
        call_command("queue", "reencrypt")
    assert told_by_reencrypt("--dry-run").startswith("1 ")


@pytest.mark.django_db
def test_reencrypt_heeds_processes_beside_the_workers(encrypted, redis_client, namespace):
    """A web process with the old setting still writes under the key that would leave it."""
    encrypted(KEYS[1], KEYS[0])
    work.echo.push(marked("sealed"), delay=999)
    minutes_later(redis_client, namespace)
    assert "may leave the setting" in told_by_reencrypt()
    encrypted(KEYS[0], KEYS[1])
    get_broker().note_use()  # as a web process that pushes
    said = "A process beside these workers, such as a web process, "
    encrypted(KEYS[1], KEYS[0])
    assert told_by_reencrypt().startswith(f"1 {said}has another first key, or did within 180 s. Keep all keys.")
    encrypted(None, KEYS[1], KEYS[0])
    with pytest.raises(CommandError, match=f"{said}encrypts"):
        call_command("queue", "reencrypt")
    encrypted(KEYS[1], KEYS[0])
    minutes_later(redis_client, namespace)
    assert "may leave the setting" in told_by_reencrypt()


def key_alarms():
    """The texts of alarms about keys."""
    return [alarm.text for alarm in inspect.snapshot().alarms if alarm.kind == "keys"]


def test_a_key_that_a_live_worker_lacks_is_an_alarm_as_soon_as_a_process_encrypts_with_it(encrypted):
    old, new = ids_of(KEYS)
    encrypted(None, KEYS[0])
    work.echo.push(1)
    beat = partial(get_broker().beat, "default")
    beat("older", {"state": "live"})  # it does not report keys
    beat("w1", {"state": "live", "keys": f"clear,{old}", "host": "a", "pid": 7})
    beat("w2", {"state": "live", "keys": f"{old},{new}"})
    assert key_alarms() == []
    beat("w2", {"state": "live", "keys": f"{new},{old}"})
    (told,) = key_alarms()
    assert f"encrypted with the key {new}, which 1 worker lacks (a process 7):" in told
    beat("w2", {"state": "live", "keys": f"clear,{new}"})
    assert key_alarms() == []
    encrypted(KEYS[0])
    (told,) = key_alarms()  # this process encrypts
    assert f"encrypted with the key {old}, which 1 worker lacks:" in told
    beat("w1", {"state": "live", "keys": ""})
    assert f"encrypted with the key {old}, which 2 workers lack (a process 7):" in key_alarms()[0]


def test_a_process_that_is_not_a_worker_and_lacks_a_key_is_an_alarm_for_minutes_after_it_worked(
    encrypted, namespace, redis_client
):
    old, new = ids_of(KEYS)
    (noted,) = libraries(namespace)
    work.echo.push(1)  # a web process with the old key
    assert redis_client.zscore(noted, f"keys:{old}")
    redis_client.delete(noted)
    work.echo.push(1)
    assert not redis_client.exists(noted), "no other push costs a command"
    redis_client.zadd(noted, {f"keys:{old}": time.time()})
    encrypted(KEYS[1], KEYS[0])
    beat = partial(get_broker().beat, "default", "w1")
    beat({"state": "live", "keys": f"{new},{old}"})
    (told,) = key_alarms()
    assert f"encrypted with the key {new}. A process that is no worker lacks it" in told
    encrypted(KEYS[1])
    beat({"state": "live", "keys": new})
    assert f"encrypted with the key {old}, which 1 worker lacks" in " ".join(key_alarms())
    redis_client.zadd(noted, {f"keys:{each}": time.time() - NOTED_S - 1 for each in (old, f"{new},{old}")})
    assert key_alarms() == []
    redis_client.set(noted, "rubbish")
    assert key_alarms() == []
    redis_client.delete(noted)
    redis_client.zadd(noted, {f"keys:{each}": time.time() for each in (new, f"{old},{new}")})  # by both workers
    get_broker().announce("other")
    get_broker().beat("other", "w2", {"state": "live", "keys": f"{old},{new}"})
    assert f"encrypted with the key {old}, which 1 worker lacks" in " ".join(key_alarms())
    page = inspect.pool("other")
    assert page is not None
    assert [alarm.text for alarm in page.alarms if alarm.kind == "keys"] == []


def test_only_the_first_entry_may_be_none(settings):
    for keys, is_right in (([None, KEYS[0]], True), ([KEYS[0], None], False), ([None], True)):
        settings.QUEUEOPS = settings.QUEUEOPS | {"ENCRYPTION": keys}
        assert [each.id for each in check_settings()] == [] if is_right else ["queueops.E001"]
    assert (conf.keyring(), conf.keyring_to_read()) == (None, None)
    settings.QUEUEOPS = settings.QUEUEOPS | {"ENCRYPTION": [None, KEYS[0]]}
    assert "begins with None" in next(each.msg for each in check_environment() if each.id == "queueops.I002")
