"""Webhook: one attempt to deliver a callback, signed as Standard Webhooks says.

The body and the id are those of the callback, so each attempt sends the same. The timestamp is that of the attempt.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from queueops import conf
from queueops.errors.job_network import AddressRefused, HeaderRefused
from queueops.kinds.jobs.http.http_client import KEEPING, Answer, Deadline, answer_to
from queueops.kinds.jobs.http.http_failures import GONE, AttemptFailed, Failure, failure_of_error, failure_of_status
from queueops.kinds.jobs.http.net_guard import check_headers, check_url
from queueops.kinds.jobs.settings import JobSettings, of_jobs
from queueops.model.redact import readable

PREFIX = "whsec_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What a callback sends. It is the same at each attempt."""

    id: str  # of the callback; the receiver knows a repeated delivery by it
    url: str
    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    proxy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """The outcome of an attempt. It was delivered if there is no failure."""

    status: int | None  # of the answer, if there was one
    failure: Failure | None
    answer: str  # the beginning of the answer's body, with masked secrets
    seconds: float

    @property
    def gone(self) -> bool:
        """Whether the receiver says that it wants no more callbacks."""
        return self.status == GONE


def send(delivery: Delivery, *, settings: JobSettings | None = None, what: str = "callback") -> Delivered:
    """Make one attempt. It raises no error of the network: the outcome has the failure, which names `what` it is.

    A redirect is followed only if the same body is sent again (307 and 308).
    """
    settings = settings or of_jobs()
    begin = time.monotonic()
    status, failure, answer = None, None, b""
    try:
        target = check_url(delivery.url, what, settings)
        with answer_to(
            "POST",
            target,
            what=what,
            headers=_headers(delivery, settings),
            content=delivery.body,
            settings=settings,
            deadline=Deadline(settings.callback_timeout),
            proxy=delivery.proxy,
            redirects=KEEPING,
        ) as response:
            status = response.status_code
            wait = response.headers.get("retry-after", "")
            failure = None if response.is_success else failure_of_status(response.status_code, wait)
            answer = _beginning(response, settings.callback_answer)
    except (AddressRefused, HeaderRefused, AttemptFailed) as error:
        failure = failure_of_error(error)
    shown = conf.redactor().text(readable(answer))
    return Delivered(status=status, failure=failure, answer=shown, seconds=time.monotonic() - begin)


def signed_headers(id: str, body: bytes, secrets: Iterable[str], timestamp: int) -> dict[str, str]:
    """The headers of Standard Webhooks, with one signature for each secret; without a secret there is none."""
    headers = {"webhook-id": id, "webhook-timestamp": str(timestamp)}
    signatures = [f"v1,{_signature(id, body, secret, timestamp)}" for secret in secrets]
    return headers | ({"webhook-signature": " ".join(signatures)} if signatures else {})


def _signature(id: str, body: bytes, secret: str, timestamp: int) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    digest = hmac.new(key, f"{id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def _headers(delivery: Delivery, settings: JobSettings) -> dict[str, str]:
    """All headers of the request. The own ones win over those of the callback."""
    own = {"content-type": delivery.content_type, "idempotency-key": delivery.id}
    own |= signed_headers(delivery.id, delivery.body, settings.callback_secrets, int(time.time()))
    given = check_headers(dict(delivery.headers))
    kept = {name: value for name, value in given.items() if name.lower() not in own}
    return check_headers(kept | own)


def _beginning(response: Answer, limit: int) -> bytes:
    """At most `limit` bytes of the body. An answer has its status already: a body that breaks off changes nothing."""
    read = b""
    try:
        for part in response.iter_raw() if limit else ():
            read += part
            if len(read) >= limit:
                break
    except AttemptFailed:
        pass
    return read[:limit]
