"""Encryption at rest: every kind of work with a marker in each value, and what the store holds and hears of it."""

from __future__ import annotations

import json
import re
import sys
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import StringIO
from typing import Any

import msgspec
import pytest
import redis
from cryptography.fernet import Fernet
from django.core.management import call_command
from django.db.models import TextField
from django.db.models.functions import Cast

from console.audit.log import new_entry, written
from console.models import AuditEntry
from queueops import TaskFailed, chain, conf, control, group, inspect, jobs, schedules
from queueops.checks import check_environment, check_settings
from queueops.errors import NotDecodable
from queueops.events import hub as hubs
from queueops.inspect import TaskQuery
from queueops.kinds.workflows.kept_runs import kept_runs
from queueops.management.doctor import encrypted_values
from queueops.management.doctor.finding import FAIL, OK, WARN
from queueops.management.queue.fsck import _walk
from queueops.model.encryption import IN_CLEAR, keyring
from queueops.model.states import State
from queueops.redis.broker import close_brokers, get_broker
from queueops.tasks import registry
from queueops.testing import run_worker
from queueops.watchdog.schedule_firing import ScheduleFiring
from tests.redis import encrypted_work as work
from tests.redis.encrypted_work import MARKER, marked

KEYS = [Fernet.generate_key().decode() for _ in range(2)]


@pytest.fixture
def encrypted(namespace: str, settings: Any) -> Iterator[Callable[..., None]]:
    """The setting, with the first key; a call sets other keys."""

    def use(*keys: str) -> None:
        hubs.close()
        close_brokers()
        settings.QUEUEOPS = settings.QUEUEOPS | {"ENCRYPTION": list(keys)}

    use(KEYS[0])
    kept_runs.clear()
    jobs.job_handler("sealed.handles")(work.handles)
    yield use
    registry.unregister("job", "sealed.handles")
    kept_runs.clear()


def has_marker(text: bytes) -> bool:
    """Whether a text has the marker, or a part of it in base64, in which bytes stand in JSON."""
    coded = (b64encode(MARKER.encode()[start:]).rstrip(b"=")[:12] for start in range(3))
    return any(each in text for each in (MARKER.encode(), *coded))


def texts_in(client: redis.Redis) -> Iterator[tuple[bytes, bytes]]:
    """Every value of every key, with its key."""
    read: dict[bytes, Callable[[bytes], Any]] = {
        b"hash": client.hgetall, b"string": client.get, b"list": lambda key: client.lrange(key, 0, -1),
        b"zset": lambda key: client.zrange(key, 0, -1), b"set": client.smembers, b"stream": client.xrange,
    }  # fmt: skip
    for key in client.scan_iter(count=1000):
        if (type := client.type(key)) != b"none":  # it has expired meanwhile
            yield key, repr(read[type](key)).encode()


def found_in(client: redis.Redis) -> list[tuple[bytes, bytes]]:
    """The keys that have a marker in clear, with the beginning of what they hold."""
    return [(key, text[:2_000]) for key, text in texts_in(client) if has_marker(text)]


@pytest.fixture
def heard(redis_client: redis.Redis) -> Iterator[list[str]]:
    """The commands that the server gets, as its append-only file has them."""
    lines: list[str] = []
    is_on = threading.Event()

    def listen(monitor: Any) -> None:
        is_on.set()
        for line in monitor.listen():
            if "end-of-monitoring" in line["command"]:
                return
            lines.append(line["command"])

    with redis_client.monitor() as monitor:
        thread = threading.Thread(target=listen, args=(monitor,))
        thread.start()
        assert is_on.wait(30)
        yield lines
        redis_client.get("end-of-monitoring")
        thread.join(30)


@pytest.mark.django_db
def test_no_value_of_any_kind_is_in_clear_in_the_store(encrypted, heard, redis_client):
    plain = work.echo.using(meta={"tenant": marked("meta")}).push(marked("argument"), named=marked("named"))
    failed = work.fails.using(follow_up={"failure": work.hears.s()}).push(marked("of failing"))
    followed = work.echo.using(follow_up={"success": work.echo.s(marked("follow-up"))}).push(marked("followed"))
    linked = chain(work.echo.s(marked("first")), work.echo.s(marked("second"))).push()
    grouped = group(work.echo.s(marked("one")), work.echo.s(marked("two"))).push()
    far = work.echo.using(pool="far")
    crossed = chain(work.echo.s(marked("here")), far.s(marked("there")), work.echo.s(marked("back"))).push()
    spread = group(work.echo.s(marked("near")), far.s(marked("far"))).push()
    work.echo.using(follow_up={"success": far.s(marked("far"))}, id="to-far").push(marked("to follow"))
    distant = work.reaches.start(marked("distant"))
    chunked = work.Chunked.push(marked("chunk"))
    stepped = work.Steps.push(marked("state"))
    running = work.run.start(marked("run"), id="run")
    running.signal("say", marked("signal"))
    broken = work.breaks.start(marked("broken"), id="breaks")
    schedules.create(work.echo, schedules.Schedule("0 0 1 1 *", args=(marked("schedule"),)), id="sealed")
    schedules.run_now("sealed")
    many = [work.echo.using(meta={"m": marked("meta")}).push(marked(str(number))) for number in range(3)]
    jobs.submit(
        aggregation="a", handler="sealed.unknown", url=f"http://a.example/{MARKER}", extra=marked("extra"),
        callback_url=f"http://b.example/{MARKER}", delay=999,
    )  # fmt: skip
    run_worker()
    assert not found_in(redis_client)
    running.signal("say", marked("large signal") * 1_000)
    run_worker()
    assert not found_in(redis_client)

    assert plain.result() == [[marked("argument")], {"named": marked("named")}, {"tenant": marked("meta")}]
    with pytest.raises(TaskFailed) as error:
        failed.result()
    assert error.value.message == marked("error")
    assert marked("error") in error.value.traceback
    assert linked.result()[0] == [[[marked("first")], {}, {}], marked("second")]
    assert [each[0] for each in grouped.result()] == [[marked("one")], [marked("two")]]
    assert crossed.result()[0][1] == marked("back")
    assert crossed.result()[0][0][0][1] == marked("there")
    assert [each[0] for each in spread.result()] == [[marked("near")], [marked("far")]]
    assert distant.result() == marked("distant")
    assert chunked.result() == [marked("chunk") + str(number) for number in range(3)]
    assert stepped.status().state == State.SUCCEEDED, inspect.task(stepped.id).error
    assert followed.status().state == State.SUCCEEDED
    assert all(each.result() for each in many)
    assert running.result()[:2] == [marked("run"), marked("run")]
    assert running.result()[3] == marked("run")
    with pytest.raises(TaskFailed, match=MARKER):
        broken.result()
    errors = [each.error for each in inspect.task(failed.id).attempts]
    assert [(MARKER in each.message, MARKER in each.traceback, each.type[-7:]) for each in errors] == [
        (True, True, "Trouble")
    ] * 2
    shown = inspect.task(plain.id)
    assert MARKER in repr(shown.args_json)
    assert MARKER in repr(shown.result_json)
    assert MARKER in repr(shown.log)
    said = [line for line in heard if has_marker(line.encode("utf-8", "replace"))]
    assert not said, said[0][:2_000]


@pytest.mark.parametrize("keys", [(KEYS[1],), ()], ids=["another key", "no key"])
def test_work_without_its_key_waits_for_it_and_clear_values_are_read(encrypted, keys, redis_client):
    encrypted()
    clear = work.echo.push(marked("clear"))
    encrypted(KEYS[0])
    done, begun = work.echo.push(marked("done")), work.run.start(marked("begun"))
    run_worker()
    assert clear.result()[0] == [marked("clear")]
    sealed, edited = work.echo.push(marked("sealed")), work.echo.push(marked("before"))
    assert control.edit_and_retry(edited.id, [marked("after")], {}).word == "OK"
    linked = chain(work.echo.s(1), work.hears.s()).push()
    grouped = group(work.echo.s(1), work.echo.s(marked("part"))).push()
    chunked, stepped = work.Chunked.push(marked("chunk")), work.Steps.push(marked("state"))
    child = work.child.start(marked("child"))
    jobs.submit(aggregation="a", handler="sealed.handles", url=f"http://a.example/{MARKER}", id="job")
    schedules.create(work.echo, schedules.Schedule("* * * * *", args=(marked("tick"),)), id="closed")
    redis_client.zadd(get_broker().keys("default").schedules, {"closed": 1})
    encrypted(*keys)
    kept_runs.clear()
    begun.signal("say", "in clear")
    run_worker()

    assert ScheduleFiring(get_broker()).act("default") == {}
    assert redis_client.zscore(get_broker().keys("default").schedules, "closed") == 1
    with pytest.raises(NotDecodable, match="lacks its key"):
        schedules.run_now("closed")
    rows = inspect.tasks(TaskQuery(), limit=100).rows
    assert {row.state for row in rows} <= {
        State.QUARANTINED,
        State.SUCCEEDED,
        State.IDLE,
        State.WAITING,
        State.POSTPONED,
    }
    for handle in (sealed, edited, chunked, stepped, child, begun):
        assert "lacks its key" in inspect.task(handle.id).reason
    shown = repr([inspect.task(row.id) for row in rows])
    assert not re.findall(".{200}(?:qe1:|u0071).{30}", shown)
    with pytest.raises(NotDecodable, match="lacks its key"):
        done.result()
    assert [each.level for each in encrypted_values.findings()] == [FAIL]
    assert not [fault for page in _walk(control.repair, "default") for fault in page.faults]
    encrypted(KEYS[1], KEYS[0])
    kept_runs.clear()
    control.requeue([row.id for row in rows if row.state == State.QUARANTINED])
    control.run_now([child.id, begun.id])
    run_worker()
    assert (sealed.result()[0], edited.result()[0]) == ([marked("sealed")], [marked("after")])
    assert (grouped.result()[1][0], child.result()) == ([marked("part")], marked("child"))
    assert chunked.result()[0] == marked("chunk") + "0"
    assert [each.status().state for each in (linked, stepped)] == [State.SUCCEEDED] * 2
    assert inspect.task("job").state == State.SUCCEEDED
    assert ScheduleFiring(get_broker()).act("default")


@pytest.mark.parametrize("keys", [(KEYS[0],), ()], ids=["on", "off"])
def test_a_text_of_the_user_that_looks_encrypted_comes_back_unchanged(encrypted, keys):
    encrypted(*keys)
    token = Fernet(KEYS[0]).encrypt(b"[1]").decode()
    texts = [
        f"qe1:{token}",
        f"qe1:{token[:50]}",
        f'"\\u0071e1:{token}"',
        f'["\\u0071e1:{token}"]',
        {"qe1:gAAAA": [f"qe1:{token}"]},
    ]
    plain, linked = work.echo.push(*texts), chain(work.echo.s(texts[0]), work.echo.s(texts)).push()
    run = work.child.start(texts[2])
    run_worker()
    assert plain.result()[0] == texts
    assert linked.result()[0] == [[[texts[0]], {}, {}], texts]
    assert run.result() == texts[2]


def rotated(*arguments: str) -> dict[str, int]:
    """What `queue reencrypt` tells."""
    out = StringIO()
    with suppress(SystemExit):
        call_command("queue", "reencrypt", "--json", *arguments, stdout=out)
    return json.loads(out.getvalue())


def test_a_value_that_changed_since_it_was_read_is_not_replaced(namespace, redis_client):
    broker = get_broker()
    prefix = broker.keys("default").prefix
    places = {"hash": "field", "list": 1, "zset": "", "string": ""}
    for type, place in places.items():
        key = f"{prefix}:snapshot-{type}"
        {
            "hash": lambda key: redis_client.hset(key, "field", "new"),
            "list": lambda key: redis_client.rpush(key, "first", "new"),
            "zset": lambda key: redis_client.zadd(key, {"new": 7}),
            "string": lambda key: redis_client.set(key, "new"),
        }[type](key)
        redis_client.expire(key, 1_000)
        before = redis_client.dump(key)
        assert broker._call("reencrypt", "default", f"snapshot-{type}", type, place, "old", "newer") == 0
        assert redis_client.dump(key) == before
        assert broker._call("reencrypt", "default", f"snapshot-{type}", type, place, "new", "newer") == 1
        assert redis_client.dump(key) != before
        assert redis_client.ttl(key) > 0
    assert redis_client.zrange(f"{prefix}:snapshot-zset", 0, -1, withscores=True) == [(b"newer", 7.0)]
    assert redis_client.lrange(f"{prefix}:snapshot-list", 0, -1) == [b"first", b"newer"]


@pytest.mark.django_db
def test_the_audit_is_encrypted_and_rotated_too(encrypted, client, django_user_model):
    encrypted()
    plain = new_entry("edit", "in clear", actor_name="a", before={"args": marked("clear")})
    encrypted(KEYS[0])
    with written("pause_pool", "default", [], actor_name="a", before={"pool": "default", "lanes": ["a"]}) as paused:
        pass
    with written("edit", "t", [("default", "t")], actor_name="a", before={"args": marked("before")}) as entry:
        entry.after["args"] = marked("after")
    stored = AuditEntry.objects.annotate(text=Cast("before", TextField()), more=Cast("after", TextField()))
    texts = stored.values_list("text", "more")
    assert MARKER not in repr(texts.filter(pk=entry.pk))
    encrypted(KEYS[1], KEYS[0])
    told = rotated("--dry-run")
    assert (told["old"], told["clear"], told["rows"]) == (3, 1, 6)
    told = rotated()
    assert (told["changed"], told["old"], told["clear"]) == (4, 0, 0)
    assert MARKER not in repr(texts)
    encrypted(KEYS[1])
    found = AuditEntry.objects.get(pk=entry.pk)
    assert (found.before["args"], found.after["args"]) == (marked("before"), marked("after"))
    assert AuditEntry.objects.get(pk=plain.pk).before == {"args": marked("clear")}
    client.force_login(django_user_model.objects.create_superuser("ada"))
    for keys, shown, is_closed in (
        ((KEYS[1],), MARKER, False),
        ((KEYS[0],), "(encrypted)", True),
        ((), "(encrypted)", True),
    ):
        encrypted(*keys)
        assert ("are encrypted in the store" in client.get("/ops/tasks/?contains=x").content.decode()) == bool(keys)
        page = client.get(f"/ops/audit/{entry.pk}/").content.decode()
        assert shown in page
        assert "qe1:" not in page
        assert AuditEntry.objects.get(pk=entry.pk).is_closed == is_closed
        page = client.get(f"/ops/audit/{paused.pk}/").content.decode()
        assert ("_undo" in page) != is_closed


@pytest.mark.django_db
def test_rotation_leaves_no_value_under_the_old_key_or_in_clear(encrypted, redis_client):
    encrypted()
    clear = work.echo.using(meta={"m": marked("meta")}).push(marked("clear"))
    failed = work.fails.push("in clear")
    run_worker()
    encrypted(KEYS[0])
    waiting, ended = work.echo.push(marked("waiting"), delay=999), work.echo.push(marked("ended"))
    many = [marked(str(number)) for number in range(120)]
    grouped, running = group(work.echo.s(each) for each in many).push(), work.run.start(marked("run"))
    chunked, stepped = work.Chunked.push(marked("chunk")), work.Steps.push(marked("state"))
    job = jobs.submit(aggregation="a", handler="sealed.unknown", url=f"http://a.example/{MARKER}", delay=999)
    stored_job = get_broker().keys("default").task(job.id)
    redis_client.hset(stored_job, "re", '{"path":"a/file"}')
    schedules.create(work.echo, schedules.Schedule("0 0 1 1 *", args=(marked("schedule"),)), id="rotated")
    run_worker()
    keys, old = get_broker().keys("default"), keyring((KEYS[0],))
    line = old.seal_line(msgspec.json.encode({"k": "log", "at": 1, "text": marked("log")}))
    redis_client.rpush(keys.log(ended.id), *[line] * 120)
    far = f"{keys.task(grouped.id)}#results"
    redis_client.hset(far, mapping={str(number): old.seal(b"1") for number in range(600)})  # not one reply
    levels = [(each.level, "reencrypt" in each.remedy) for each in encrypted_values.findings()]
    assert levels == [(WARN, True)]
    encrypted(KEYS[1], KEYS[0])
    told = rotated("--dry-run")
    assert (told["changed"], told["current"]) == (0, 0)
    assert (told["old"] > 100, told["clear"] >= 4, told["unknown"]) == (True, True, 0)
    assert rotated("--dry-run") == told
    told = rotated()
    assert (told["old"], told["clear"], told["unknown"]) == (0, 0, 0)
    assert told["current"] >= told["changed"] > 100
    assert not found_in(redis_client)
    assert redis_client.hget(stored_job, "re") == b'{"path":"a/file"}'  # the store finds by it which file to delete
    assert set(keyring((KEYS[1],)).open(redis_client.hvals(far))) == {b"1"}
    assert [each.level for each in encrypted_values.findings()] == [OK]
    encrypted(KEYS[1])
    for _ in range(2):
        running.signal("say", marked("signal"))
        run_worker()
    assert clear.result()[0] == [marked("clear")]
    assert [MARKER in each.error.message for each in inspect.task(failed.id).attempts] == [True] * 2
    assert [each[0] for each in grouped.result()] == [[each] for each in many]
    assert (running.result(timeout=30)[0], ended.result()[0]) == (marked("run"), [marked("ended")])
    assert chunked.result()[0] == marked("chunk") + "0"
    assert stepped.status().state == State.SUCCEEDED
    assert MARKER in repr(inspect.task(waiting.id).args_json)
    assert MARKER in schedules.get("rotated").args


def test_another_store_has_keys_of_its_own(encrypted, settings, namespace):
    other = {"eu": {"NAMESPACE": f"{namespace}-eu", "ENCRYPTION": [KEYS[1]]}}
    settings.QUEUEOPS = settings.QUEUEOPS | {"STORES": other}
    with conf.in_store("eu"):
        handle = work.echo.push(marked("eu"))
        assert MARKER in inspect.task(handle.id).args_json
        (found,) = [count for count in control.reencrypt("default", dry_run=True) if count["current"]]
    assert (found["current"], found["unknown"]) == (1, 0)


def test_checks_name_bad_keys_without_showing_them_and_what_stays_in_clear(settings):
    for wrong in ("a key", ["short"], [KEYS[0], KEYS[1][:-2]], [7]):
        settings.QUEUEOPS = settings.QUEUEOPS | {"ENCRYPTION": wrong}
        (found,) = check_settings()
        assert found.id == "queueops.E001"
        assert "Fernet.generate_key()" in found.msg
        assert KEYS[0] not in found.msg
    settings.QUEUEOPS = settings.QUEUEOPS | {"ENCRYPTION": KEYS}
    (told,) = [each for each in check_environment() if each.id == "queueops.I001"]
    assert all(each in told.msg for each in IN_CLEAR)
    settings.QUEUEOPS = settings.QUEUEOPS | {"STORE": "tests.stores.sqlite_store.SqliteStore"}
    (told,) = [each for each in check_environment() if each.id == "queueops.E012"]
    assert "in clear" in told.msg


def test_without_the_package_one_sentence_says_what_to_install(settings, monkeypatch):
    settings.QUEUEOPS = settings.QUEUEOPS | {"ENCRYPTION": KEYS}
    monkeypatch.setitem(sys.modules, "cryptography.fernet", None)
    keyring.cache_clear()
    (found,) = [each for each in check_environment() if each.id == "queueops.E012"]
    assert "pip install 'queueops[encryption]'" in found.msg
