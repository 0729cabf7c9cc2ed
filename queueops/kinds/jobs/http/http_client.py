"""HTTP client of jobs: connections to checked addresses only, an end in time, and checked redirects.

`http_exchange` sends each request, by connections of urllib3 (`http_connection`). The `Host` header and the TLS server
name are those of the URL.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import partial
from urllib.parse import unquote, urljoin

from queueops.kinds.jobs.header_rules import is_credential
from queueops.kinds.jobs.http.http_connection import CALL, Call, Deadline
from queueops.kinds.jobs.http.http_exchange import Answer, Request, send_by_proxy, send_direct
from queueops.kinds.jobs.http.http_failures import AttemptFailed, FailureKind
from queueops.kinds.jobs.http.net_guard import Target, check_url, public_addresses
from queueops.kinds.jobs.settings import JobSettings

__all__ = ["KEEPING", "REDIRECTS", "Answer", "Deadline", "answer_to"]

REDIRECTS = frozenset({301, 302, 303, 307, 308})
KEEPING = frozenset({307, 308})
"""Redirects after which the same method and body are sent again."""
CLIENT_HEADERS = {"accept": "*/*", "accept-encoding": "identity", "user-agent": "QueueOps"}


@contextmanager
def answer_to(
    method: str,
    target: Target,
    *,
    what: str,
    headers: Mapping[str, str],
    settings: JobSettings,
    deadline: Deadline,
    content: bytes | None = None,
    proxy: str = "",
    redirects: frozenset[int] = REDIRECTS,
) -> Iterator[Answer]:
    """Send a request and give its answer, whose body is not read yet.

    Redirects of the codes in `redirects` are followed, each checked as the first URL was. Raises AddressRefused and
    AttemptFailed.
    """
    call = CALL.set(Call("proxy" if proxy else what, settings, deadline))
    try:
        send = _way(proxy, settings)
        hops = _Hops(send, what, settings, redirects, checks_host=bool(proxy))
        answer = hops.followed(_first_request(method, target, headers, content))
        try:
            yield answer
        finally:
            answer.close()
    finally:
        CALL.reset(call)


def _way(proxy: str, settings: JobSettings) -> Callable[[Request], Answer]:
    if not proxy:
        return partial(send_direct, settings)
    target = check_url(proxy, "proxy", settings)
    return partial(send_by_proxy, target, _basic(target.user) if target.user else "")


def _first_request(method: str, target: Target, headers: Mapping[str, str], content: bytes | None) -> Request:
    sent = CLIENT_HEADERS | {name.lower(): value for name, value in headers.items()}
    if target.user and "authorization" not in sent:
        sent["authorization"] = _basic(target.user)
    return Request(method, target, sent, content)


def _basic(user: str) -> str:
    name, _, password = user.partition(":")
    return "Basic " + base64.b64encode(f"{unquote(name)}:{unquote(password)}".encode()).decode()


@dataclass(frozen=True, slots=True)
class _Hops:
    """The way from a request to the first answer that is no redirect."""

    send: Callable[[Request], Answer]
    what: str
    settings: JobSettings
    redirects: frozenset[int]
    _: KW_ONLY
    checks_host: bool  # a proxy makes the connections, and may resolve a host in another way

    def followed(self, request: Request) -> Answer:
        for _ in range(self.settings.max_redirects + 1):
            if self.checks_host:
                self._check_host(request.target)
            answer = self.send(request)
            if answer.status_code not in self.redirects or "location" not in answer.headers:
                return answer
            answer.close()
            request = _next_request(request, answer, self._next_target(request, answer))
        reason = f"There were more than {self.settings.max_redirects} redirects."
        raise AttemptFailed(FailureKind.REDIRECTS, reason)

    def _next_target(self, request: Request, answer: Answer) -> Target:
        target, place = request.target, answer.headers["location"].replace(" ", "%20")
        try:
            url = urljoin(f"{target.scheme}://{target.authority}{target.path}", place)
        except ValueError:
            url = place  # the check says what is wrong with it
        return check_url(url, self.what, self.settings)

    def _check_host(self, target: Target) -> None:
        try:
            public_addresses(target.host, target.port, self.what, self.settings)
        except OSError as error:
            reason = f"The connection failed: The host {target.host} has no address: {error}"
            raise AttemptFailed(FailureKind.CONNECTION, reason) from error


def _next_request(request: Request, answer: Answer, target: Target) -> Request:
    """The request after a redirect. Only the codes of KEEPING keep the method and the body."""
    keeps = answer.status_code in KEEPING
    method = request.method if keeps or request.method == "HEAD" else "GET"
    following = Request(method, target, dict(request.headers), request.content if keeps else None)
    headers = dict(request.headers)
    if following.origin != request.origin:
        headers = _without_secrets(headers)
    if target.user:
        headers["authorization"] = _basic(target.user)
    return Request(method, target, headers, following.content)


def _without_secrets(headers: Mapping[str, str]) -> dict[str, str]:
    """Another origin gets no credentials."""
    return {name: value for name, value in headers.items() if not is_credential(name)}
