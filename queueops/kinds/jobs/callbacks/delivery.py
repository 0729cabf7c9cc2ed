"""Callbacks: sends the outcome of a job to its target, and reads from the answer whether it was delivered.

Each attempt sends the same body: it is made of what the record holds, and the record of a callback never changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from queueops.errors import BadOption, NotDecodable, QueueOpsError
from queueops.kinds.jobs.callbacks import circuits
from queueops.kinds.jobs.callbacks.callback_plans import CALLBACK, Target, target_of
from queueops.kinds.jobs.callbacks.callback_senders import Sender, sender_of
from queueops.kinds.jobs.counters import DEAD, DELIVERED, NO_SENDER, NO_TOPIC, count
from queueops.kinds.jobs.files.download_options import DOWNLOAD
from queueops.kinds.jobs.files.download_url import download_url
from queueops.tasks.context import Context
from queueops.tasks.decisions import Permanent, RetryLater
from queueops.tasks.encoding import decode_arguments, decode_result

if TYPE_CHECKING:
    from queueops.kinds.jobs.http.http_failures import Failure

LONGEST_ANSWER = 200
"""Characters that are kept of an answer."""


class NotDelivered(QueueOpsError):
    """{code}The callback was not delivered. {reason} {answer}

    The answer is that of the target, cut.
    """

    code: str
    reason: str
    answer: str


class CallbackHandler:
    """Sends callbacks. The result of a delivered one has the code and the beginning of the answer."""

    kind = name = CALLBACK
    is_async = False
    retry_on = (Exception,)

    def run(self, context: Context) -> dict[str, Any]:
        """Send the callback once. What it raises decides about the next attempt."""
        target, body = message_of(context.lease.args)
        from queueops.kinds.jobs.callbacks.webhook import Delivery  # its packages are an extra, and slow to import

        sender = _sender(context, target)
        wait, noted = circuits.ask(context.pool, target, context.id)
        if wait:
            context.restart(wait)
        sent = sender.send(Delivery(id=context.id, url=target.destination, body=body))
        circuits.note(context.pool, target, sent, noted=noted)
        count(context.pool, *_counters(context, sent.failure))
        if (failure := sent.failure) is None:
            answer = {"answer": _in_one_line(sent.answer)}
            return answer if sent.status is None else {"status": sent.status, **answer}
        code = f"HTTP {sent.status}: " if sent.status else ""
        error = NotDelivered(code=code, reason=failure.reason, answer=_in_one_line(sent.answer))
        if not failure.retriable:
            raise Permanent(error)
        if failure.retry_after is not None:
            raise RetryLater(failure.retry_after, error)
        raise error


def _sender(context: Context, target: Target) -> Sender:
    """The sender of a target. Its type may be gone since the job was handed in: then it raises BadOption."""
    try:
        return sender_of(target.kind)
    except BadOption:
        count(context.pool, NO_SENDER)
        raise


def _counters(context: Context, failure: Failure | None) -> Iterator[str]:
    """The counters of an attempt."""
    if failure is None:
        yield DELIVERED
    elif not failure.retriable or context.attempt > context.lease.retries:
        yield DEAD
    if failure is not None and failure.what == "topic":
        yield NO_TOPIC


def message_of(arguments: bytes, previous: bytes | None = None) -> tuple[Target, bytes]:
    """The target and the body of a callback, from its arguments as a worker gets them. Raises NotDecodable.

    ``previous`` is the end of its job, which a record holds beside the arguments, and a worker as the first of them.
    """
    values, named = decode_arguments(CALLBACK, arguments)
    if previous is not None:
        values = [decode_result(CALLBACK, previous)]
    try:
        outcome = values[0] if values else None
        told = _success(outcome, named.get("handler", "")) if named["success"] else _failure(outcome or {})
        body = {
            "success": named["success"],
            "job_id": named["job"],
            "resource_url": named["url"],
            "extra": named["extra"],
            **told,
            "delivered": True,
            "delivery_error": "",
        }
        return target_of(named), msgspec.json.encode(body)
    except (KeyError, TypeError, AttributeError) as error:
        raise NotDecodable(what="arguments", name=CALLBACK, reason=f"{type(error).__name__}: {error}") from error


def _in_one_line(answer: str) -> str:
    return " ".join(answer.split())[:LONGEST_ANSWER]


def _success(result: Any, handler: str) -> dict[str, Any]:
    """What is told of a success; a handler's own result is told as it is. The URL of a download is made now."""
    known = result if isinstance(result, Mapping) else {}
    url, path = known.get("download_url") or "", known.get("path")
    if handler == DOWNLOAD and not url and isinstance(path, str):
        url = download_url(path)
    return {
        "error": "",
        "image_size": known.get("image_size") or "",
        "download_url": url,
        "response_code": known.get("response_code") or 0,
        "result": result,
    }


def _failure(story: Mapping[str, Any]) -> dict[str, Any]:
    """What is told of a job without success: how the store describes its end."""
    stored = story.get("error") or {}
    error = stored.get("message") or ""
    outcome, reason = story.get("outcome") or "failure", story.get("reason") or ""
    text = error if outcome == "failure" else f"{outcome}: {reason}" if reason else outcome
    return {
        "error": text,
        "image_size": "",
        "download_url": "",
        "response_code": stored.get("code") or 0,
        "result": None,
    }
