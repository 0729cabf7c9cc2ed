"""Callbacks to Kafka: messages of the real client, confirmed by the broker that librdkafka brings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka
import pytest
from django.core.checks import run_checks
from django.test import Client
from standardwebhooks.webhooks import Webhook

from queueops import control, inspect, jobs
from queueops.conf.readers import Unfit
from queueops.errors import BadOption
from queueops.kinds.jobs import checks
from queueops.kinds.jobs.callbacks import callback_senders, kafka_producer
from queueops.kinds.jobs.callbacks.callback_senders import register_sender
from queueops.kinds.jobs.callbacks.kafka_producer import send
from queueops.kinds.jobs.callbacks.webhook import Delivered, Delivery
from queueops.kinds.jobs.http.http_failures import FailureKind
from queueops.kinds.jobs.settings import read_settings
from queueops.testing import run_worker
from tests.jobs.api_client import GOOD, get, post
from tests.jobs.conftest import LOCAL, Register
from tests.jobs.test_callbacks import callback_of
from tests.support.for_each import for_each

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
TO_TOPIC = {"callback_type": "kafka", "callback_dst": "done"}
Read = Callable[[str, int], list[Any]]


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    """The address of a broker. It ends with the producer that has brought it."""
    owner = confluent_kafka.Producer({"test.mock.num.brokers": 1})
    (found,) = owner.list_topics(timeout=10).brokers.values()
    yield f"{found.host}:{found.port}"
    owner.flush(1)


@pytest.fixture
def kafka(namespace: str, settings: Any, broker: str) -> str:
    """Settings that name the broker, whose address is the fixture's value."""
    own = LOCAL | {"KAFKA": {"bootstrap.servers": broker}, "CALLBACK_SECRETS": [SECRET]}
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": own}
    return broker


@pytest.fixture
def read(broker: str) -> Read:
    """Read so many messages of a topic, from its beginning."""

    def read(topic: str, count: int) -> list[Any]:
        options = {"bootstrap.servers": broker, "group.id": f"test-{topic}", "auto.offset.reset": "earliest"}
        consumer = confluent_kafka.Consumer(options)
        try:
            consumer.assign([confluent_kafka.TopicPartition(topic, part, 0) for part in range(4)])
            return [each for each in consumer.consume(count, timeout=20) if each.error() is None]
        finally:
            consumer.close()

    return read


def headers_of(message: Any) -> dict[str, str]:
    return {name: value.decode() for name, value in message.headers()}


def test_a_callback_is_a_message_that_is_the_same_at_each_attempt(kafka: str, handler: Register, read: Read) -> None:
    handler(lambda job: {"n": 1})
    given: dict[str, Any] = {"callback_type": "kafka", "callback_dst": "Done"}
    job = jobs.submit(aggregation="a", handler="work", **given, extra="order 7")
    run_worker()
    row = callback_of(job)
    assert (row.state, row.lane, row.url) == ("succeeded", "to:kafka:Done", "kafka:Done")
    assert row.answer.startswith("partition ")
    control.redeliver_callbacks([row.id])
    run_worker()
    first, again = read("Done", 2)
    assert first.value() == again.value()
    assert first.key() == again.key() == row.id.encode()
    told = json.loads(first.value())
    assert (told["job_id"], told["success"], told["extra"], told["result"]) == (job.id, True, "order 7", {"n": 1})
    for message in (first, again):
        assert headers_of(message)["webhook-id"] == headers_of(message)["idempotency-key"] == row.id
        Webhook(SECRET).verify(message.value(), headers_of(message))
    assert {found.id for found in inspect.callbacks("delivered", "kafka:Done").rows} == {row.id}


def test_success_and_error_go_to_targets_of_their_own(kafka: str, handler: Register, read: Read) -> None:
    def fail(job: Any) -> None:
        raise OSError("the disk is full")

    handler(fail)
    given: dict[str, Any] = {"aggregation": "a", "handler": "work", "retries": 0}
    jobs.submit(**given, callback_type="http", callback_dst="https://a.example/", callback_error_type="kafka",
                callback_error_dst="failed")  # fmt: skip
    jobs.submit(**given, **TO_TOPIC, callback_error_dst="failed")
    run_worker()
    assert [json.loads(message.value())["error"] for message in read("failed", 2)] == ["the disk is full"] * 2


@for_each(
    ("given", "field"),
    [
        ({"callback_type": "sqs", "callback_dst": "x"}, "callback_type"),
        ({"callback_type": "kafka"}, "callback_dst"),
        ({"callback_dst": "x"}, "callback_type"),
        ({"callback_type": "kafka", "callback_dst": "a b"}, "callback_dst"),
        ({"callback_type": "kafka", "callback_dst": "9092"}, "callback_dst"),
        ({"callback_type": "http", "callback_dst": "topic"}, "callback_dst"),
        ({"callback_url": "https://a.example/", "callback_dst": "x"}, "callback_dst"),
        ({"callback_error_type": "kafka"}, "callback_error_dst"),
        ({"callback_type": 7, "callback_dst": "x"}, "callback_type"),
    ],
)
def test_a_wrong_target_is_refused_with_its_field(kafka: str, given: dict[str, Any], field: str) -> None:
    with pytest.raises(BadOption) as raised:
        jobs.submit(aggregation="a", handler="work", **given)
    assert raised.value.name == field


@pytest.mark.django_db  # other checks open the database
def test_without_a_broker_in_the_settings_or_the_package_a_topic_is_refused(
    namespace: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {"aggregation": "a", "handler": "work"} | TO_TOPIC
    with pytest.raises(BadOption, match="names no broker"):
        jobs.submit(**given)
    own = LOCAL | {"KAFKA": {"bootstrap.servers": "127.0.0.1:1"}}
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": own}
    assert "queueops.E007" not in {found.id for found in run_checks()}
    monkeypatch.setattr(callback_senders, "is_kafka_installed", lambda: False)
    monkeypatch.setattr(checks, "find_spec", lambda name: None if name == "confluent_kafka" else object())
    with pytest.raises(BadOption, match=r"pip install 'queueops\[kafka\]'"):
        jobs.submit(**given)
    (told,) = [found for found in run_checks() if found.id == "queueops.E007"]
    assert told.hint == "Write: pip install 'queueops[kafka]'"


@for_each("wrong", [{"linger.ms": 5}, {"bootstrap.servers": ["a"]}, ["a"], {"bootstrap.servers": ""}])
def test_wrong_options_are_refused_and_not_shown(wrong: Any) -> None:
    with pytest.raises(Unfit):
        read_settings({"KAFKA": wrong})


@pytest.mark.parametrize(
    ("options", "size", "kind", "retriable"),
    [
        ({"bootstrap.servers": "127.0.0.1:1"}, 10, FailureKind.TIMEOUT, True),
        ({"message.max.bytes": 2000}, 4000, FailureKind.REFUSED, False),
        ({"no.such.option": 1}, 10, FailureKind.CONNECTION, True),
    ],
)
def test_a_message_that_the_broker_has_not_confirmed_is_not_delivered(
    broker: str, options: dict[str, Any], size: int, kind: FailureKind, retriable: bool
) -> None:
    settings = read_settings({"CALLBACK_TIMEOUT": 1, "KAFKA": {"bootstrap.servers": broker} | options})
    sent = send(Delivery(id="x", url="topic", body=b"x" * size), settings=settings)
    assert sent.failure is not None
    assert (sent.failure.kind, sent.failure.retriable, sent.status) == (kind, retriable, None)


def test_a_topic_is_redirected_to_a_url_and_keeps_its_id(kafka: str, handler: Register, settings: Any) -> None:
    from tests.jobs.servers import serving

    handler(lambda job: None)
    job = jobs.submit(aggregation="a", handler="work", **TO_TOPIC)
    run_worker()
    id = callback_of(job).id
    with serving({"/ok": lambda exchange: exchange.answer(204)}) as other:
        control.redirect_callbacks([id], other.url("/ok"))
        run_worker()
        assert [asked.headers["webhook-id"] for asked in other.asked] == [id]
    assert callback_of(job).url == other.url("/ok")


def test_the_api_takes_types_and_destinations(api: Client, settings: Any, broker: str) -> None:
    own = settings.QUEUEOPS["JOBS"] | {"KAFKA": {"bootstrap.servers": broker}}
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": own}
    plain = {name: value for name, value in GOOD.items() if name != "callback_url"}
    status, made = post(api, plain | TO_TOPIC)
    assert (status, get(api, f"jobs/{made['id']}")["callbacks"]) == (201, [])
    for field, given in (
        ("callback_type", {"callback_type": "sqs", "callback_dst": "x"}),
        ("callback_dst", {"callback_type": "http", "callback_dst": "http://10.0.0.1/"}),
        ("callback_error_dst", TO_TOPIC | {"callback_error_dst": "a b"}),
    ):
        status, problem = post(api, plain | given)
        assert (status, [each["field"] for each in problem["errors"]]) == (422, [field])


def test_a_project_registers_a_sender_of_its_own(namespace: str, handler: Register) -> None:
    sent: list[Delivery] = []

    class Memory:
        def missing(self) -> str:
            return ""

        def expected(self, destination: str) -> str:
            return "" if destination == "here" else "here"

        def place(self, destination: str) -> str:
            return f"memory:{destination}"

        def send(self, delivery: Delivery) -> Delivered:
            sent.append(delivery)
            return Delivered(status=None, failure=None, answer="taken", seconds=0.0)

    register_sender("memory", Memory())
    try:
        handler(lambda job: None)
        with pytest.raises(BadOption, match="callback_dst"):
            jobs.submit(aggregation="a", handler="work", callback_type="memory", callback_dst="there")
        job = jobs.submit(aggregation="a", handler="work", callback_type="memory", callback_dst="here")
        run_worker()
        assert (callback_of(job).lane, callback_of(job).answer) == ("to:memory:here", "taken")
        assert [each.id for each in sent] == [callback_of(job).id]
    finally:
        callback_senders._senders.pop("memory")


@pytest.mark.parametrize("code", ["_UNKNOWN_TOPIC", "UNKNOWN_TOPIC_OR_PART"])
def test_a_topic_that_the_broker_does_not_have_is_told_apart(code: str) -> None:
    error = confluent_kafka.KafkaError(getattr(confluent_kafka.KafkaError, code))
    failure = kafka_producer._failure(error)
    assert (failure.what, failure.retriable) == ("topic", True)
