"""Proxies: whether a login works where clients find the console, behind what ends their TLS.

What stands in front of the web server cannot be seen from inside. So the doctor asks as a browser does: a page of the
console, a static file of it, and an empty form of the login, which changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape
from http.client import HTTPException, HTTPMessage
from http.cookies import SimpleCookie
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from django.conf import settings

from queueops.management.doctor.finding import FAIL, OK, WARN, Finding

WAIT_S = 5.0
MOST_BYTES = 1_000_000
HEADER = (
    "Let the proxy send 'X-Forwarded-Proto: https' and Host, and set "
    "SECURE_PROXY_SSL_HEADER = ('HTTP_X_FORWARDED_PROTO', 'https'); in the stand-alone project QUEUEOPS_BEHIND_PROXY=1."
)
ASK = "Ask where clients find it: manage.py queueops doctor --url https://HOST/ops/"
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
STATIC = re.compile(r'(?:href|src)="([^"]+\.(?:css|js))"')


class Answer(NamedTuple):
    """The answer to one request; a redirect is not followed."""

    status: int
    headers: HTTPMessage
    text: str


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow no redirect."""


def findings(url: str) -> Iterator[Finding]:
    """What a client meets at the console's URL; without one what the settings tell."""
    if url:
        yield from _asked(url.rstrip("/") + "/")
    elif settings.SECURE_SSL_REDIRECT and not getattr(settings, "SECURE_PROXY_SSL_HEADER", None):
        seen = "SECURE_SSL_REDIRECT is set and SECURE_PROXY_SSL_HEADER is not: behind a proxy that ends TLS, each page"
        yield Finding("proxies", WARN, f"{seen} would be redirected to itself.", f"{HEADER} {ASK}")
    else:
        yield Finding("proxies", OK, "The settings do not contradict each other; what is in front cannot be seen.", ASK)


def _asked(url: str) -> Iterator[Finding]:
    try:
        found = [*_probe(url), *_login(url)]
    except (URLError, HTTPException, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        seen = f"{url} cannot be asked: {reason}"
        found = [Finding("proxies", FAIL, seen, "Correct the URL, the proxy, or its name in DNS.")]
    yield from found or [Finding("proxies", OK, f"Pages, static files and the login work at {url}")]


def _probe(url: str) -> Iterator[Finding]:
    answer = _ask(f"{url}healthz")
    if answer.headers.get("Location"):
        seen = f"{url}healthz is redirected to {answer.headers['Location']}"
        is_own = urlsplit(urljoin(url, answer.headers["Location"])).path == urlsplit(f"{url}healthz").path
        yield Finding("proxies", FAIL, seen, HEADER if is_own else "Give --url the address of the console itself.")
    elif answer.status != 200:
        yield Finding("proxies", FAIL, f"{url}healthz answers {answer.status}.", _REMEDIES.get(answer.status, ASK))


def _login(url: str) -> Iterator[Finding]:
    page = _ask(f"{url}login/")
    token = TOKEN.search(page.text)
    if page.status != 200 or not token:
        return  # another login of the project, or the probe has told
    for path in STATIC.findall(page.text)[:1]:
        file = urljoin(url, unescape(path))
        if (status := _ask(file).status) != 200:
            remedy = "Let the proxy or WhiteNoise serve STATIC_URL, and write: manage.py collectstatic"
            yield Finding("proxies", FAIL, f"The static file {file} answers {status}.", remedy)
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(url))
    cookies = SimpleCookie("; ".join(page.headers.get_all("Set-Cookie", [])))
    sent = "; ".join(f"{name}={each.value}" for name, each in cookies.items())
    form = {"csrfmiddlewaretoken": token[1]}
    if _ask(f"{url}login/", form, Origin=origin, Referer=f"{url}login/", Cookie=sent).status == 403:
        seen = f"A form of {url} is refused: for the project it comes from another origin."
        yield Finding("proxies", FAIL, seen, HEADER)


def _ask(url: str, form: Mapping[str, str] | None = None, **headers: str) -> Answer:
    """One request within some seconds. Raises OSError and HTTPException."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError("it is no URL of http or https")
    request = Request(url, urlencode(form).encode() if form else None, headers)  # noqa: S310  the scheme is known
    try:
        answer = build_opener(_Stay).open(request, timeout=WAIT_S)
    except HTTPError as error:
        answer = error
    with answer:
        return Answer(answer.status, answer.headers, answer.read(MOST_BYTES).decode(errors="replace"))


_REMEDIES = {
    400: "Add the host to ALLOWED_HOSTS (QUEUEOPS_HOSTS), and let the proxy send it: proxy_set_header Host $http_host.",
    404: "Give --url the path of the console, such as https://HOST/ops/",
    502: "The proxy does not reach the web server: start it, or correct proxy_pass.",
    504: "The web server does not answer the proxy in time: look at its log.",
}
