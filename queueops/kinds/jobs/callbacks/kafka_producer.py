"""Kafka producer: one attempt to deliver a callback as a message, which counts once the broker has confirmed it.

Each process has one producer for all of its threads. The id of the callback is a header and the key of the message, so
a receiver knows a repeated delivery. The headers are those of a webhook.
"""

from __future__ import annotations

import logging
import os
import time
from threading import Event, Lock
from typing import Any

try:
    import confluent_kafka
except ModuleNotFoundError as error:  # pragma: no cover - the tests have the extra
    raise ModuleNotFoundError(f"{error}. Callbacks to Kafka need it: pip install 'queueops[kafka]'") from error

from queueops.kinds.jobs.callbacks.webhook import Delivered, Delivery, signed_headers
from queueops.kinds.jobs.http.http_failures import Failure, FailureKind
from queueops.kinds.jobs.settings import JobSettings, of_jobs

logger = logging.getLogger("queueops.worker")
OPTIONS = {"acks": "all", "enable.idempotence": True, "client.id": "queueops", "linger.ms": 2}
"""Options of the producer that the setting KAFKA may replace."""
POLL_S, GRACE_S = 0.1, 5.0
"""How often a waiting thread serves reports, and how long it waits for one after the time of a message."""
PERMANENT = frozenset(
    {
        confluent_kafka.KafkaError.INVALID_MSG,
        confluent_kafka.KafkaError.INVALID_RECORD,
        confluent_kafka.KafkaError.MSG_SIZE_TOO_LARGE,
        confluent_kafka.KafkaError.TOPIC_EXCEPTION,
    }
)
"""Errors that another attempt with the same message would have again."""
NO_TOPIC = frozenset({confluent_kafka.KafkaError._UNKNOWN_TOPIC, confluent_kafka.KafkaError.UNKNOWN_TOPIC_OR_PART})
OUT_OF_TIME = frozenset({confluent_kafka.KafkaError._MSG_TIMED_OUT, confluent_kafka.KafkaError.REQUEST_TIMED_OUT})


def send(delivery: Delivery, *, settings: JobSettings | None = None) -> Delivered:
    """Send a message to the topic once. It raises no error of Kafka: the outcome has the failure."""
    settings = settings or of_jobs()
    begin, report = time.monotonic(), _Report()
    try:
        producer = _producer(settings)
        producer.produce(
            delivery.url,
            value=delivery.body,
            key=delivery.id.encode(),
            headers=_headers(delivery, settings),
            on_delivery=report.take,
        )
        until = begin + settings.callback_timeout + GRACE_S
        while not report.has_come.is_set() and time.monotonic() < until:
            producer.poll(POLL_S)
    except confluent_kafka.KafkaException as error:
        report.take(error.args[0], None)
    except (BufferError, TypeError, ValueError) as error:  # the queue is full, or the settings are wrong
        report.failure = Failure(kind=FailureKind.CONNECTION, reason=str(error), retriable=True)
        report.has_come.set()
    if not report.has_come.is_set():
        report.failure = Failure(kind=FailureKind.TIMEOUT, reason="The broker has confirmed nothing.", retriable=True)
    return Delivered(status=None, failure=report.failure, answer=report.answer, seconds=time.monotonic() - begin)


class _Report:
    """What the producer tells of a message, in any thread that polls."""

    def __init__(self) -> None:
        self.has_come = Event()
        self.failure: Failure | None = None
        self.answer = ""

    def take(self, error: Any, message: Any) -> None:
        """Keep the report."""
        if error is None:
            self.answer = f"partition {message.partition()}, offset {message.offset()}"
        else:
            self.failure = _failure(error)
        self.has_come.set()


def _failure(error: Any) -> Failure:
    code = error.code()
    kind = FailureKind.TIMEOUT if code in OUT_OF_TIME else FailureKind.CONNECTION
    return Failure(
        kind=FailureKind.REFUSED if code in PERMANENT else kind,
        reason=f"Kafka says {error.name()}: {error.str()}.",
        retriable=code not in PERMANENT,
        what="topic" if code in NO_TOPIC else "",
    )


def _headers(delivery: Delivery, settings: JobSettings) -> list[tuple[str, bytes]]:
    """The headers of a webhook: the id is the same at each attempt, the timestamp is that of the attempt."""
    found = {"content-type": delivery.content_type, "idempotency-key": delivery.id}
    found |= signed_headers(delivery.id, delivery.body, settings.callback_secrets, int(time.time()))
    return [(name, value.encode()) for name, value in found.items()]


def _producer(settings: JobSettings) -> Any:
    """The producer of this process, for these settings. A forked process makes its own."""
    options = OPTIONS | {"message.timeout.ms": round(settings.callback_timeout * 1000)} | dict(settings.kafka)
    wanted = (os.getpid(), tuple(sorted(options.items())))
    with _lock:
        if wanted not in _made:
            _made.clear()
            _made[wanted] = confluent_kafka.Producer(options, logger=logger)
        return _made[wanted]


_lock = Lock()
_made: dict[Any, Any] = {}
os.register_at_fork(after_in_child=lambda: globals().update(_lock=Lock()))
