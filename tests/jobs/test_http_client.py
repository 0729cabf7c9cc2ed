"""The HTTP client of jobs: connections go to checked addresses, end in time, and follow checked redirects."""

from __future__ import annotations

import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from queueops.errors.job_network import AddressRefused
from queueops.kinds.jobs.http.http_client import Deadline, answer_to
from queueops.kinds.jobs.http.http_connection import ssl_context
from queueops.kinds.jobs.http.http_failures import AttemptFailed
from queueops.kinds.jobs.http.net_guard import check_url
from queueops.kinds.jobs.settings import JobSettings, read_settings
from tests.jobs.conftest import Names
from tests.jobs.servers import Exchange, LocalServer, Route, serving

ONLY_SECOND = read_settings({"PRIVATE_NETWORKS": ["127.0.0.2/32"], "PORTS": None})
CERTIFICATE = (
    "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=files.example -addext "
    "subjectAltName=DNS:files.example -keyout key -out cert"
)


def get(url: str, settings: JobSettings, seconds: float = 60, proxy: str = "", **headers: str) -> bytes:
    """The body of the answer."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    target, deadline = check_url(url, "url", settings), Deadline(seconds)
    with answer_to(
        "GET", target, what="url", headers=sent, settings=settings, deadline=deadline, proxy=proxy
    ) as response:
        return response.read()


def says(body: bytes) -> Route:
    return lambda exchange: exchange.answer(200, body)


def leads_to(url: str, status: int = 302) -> Route:
    return lambda exchange: exchange.answer(status, Location=url)


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with serving({"/": says(b"here")}) as local_server:
        yield local_server


def test_the_name_of_the_host_is_sent_and_not_its_address(
    server: LocalServer, local: JobSettings, names: Names
) -> None:
    names("files.example", "127.0.0.1")
    assert get(server.url("/", "files.example"), local) == b"here"
    assert server.asked[0].headers["Host"] == f"files.example:{server.port}"


def test_tls_asks_for_the_name_and_checks_it(
    local: JobSettings, names: Names, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(CERTIFICATE.split(), cwd=tmp_path, check=True, capture_output=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert"))
    ssl_context.cache_clear()
    names("files.example", "127.0.0.1")
    names("other.example", "127.0.0.1")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    asked_names: list[str] = []
    tls.sni_callback = lambda _, name, __: asked_names.append(name)
    with serving({"/": says(b"safe")}, tls=tls) as server:
        assert get(server.url("/", "files.example"), local) == b"safe"
        with pytest.raises(AttemptFailed, match="Hostname mismatch"):
            get(server.url("/", "other.example"), local)
    ssl_context.cache_clear()
    assert asked_names == ["files.example", "other.example"]


def test_a_host_that_answers_with_another_address_later_is_looked_up_once(names: Names) -> None:
    asked = names("moving.example", "127.0.0.2", "127.0.0.1")
    once = {"/": lambda exchange: exchange.answer(200, b"allowed", Connection="close")}
    with serving(once, "127.0.0.2") as allowed, serving({}, port=allowed.port) as inside:
        assert get(allowed.url("/", "moving.example"), ONLY_SECOND) == b"allowed"
        assert asked == ["moving.example"]
        with pytest.raises(AddressRefused, match="which is loopback"):
            get(allowed.url("/", "moving.example"), ONLY_SECOND)
    assert inside.asked == []


def test_the_next_request_of_a_thread_goes_by_the_same_connection(server: LocalServer, local: JobSettings) -> None:
    server.routes["/2"] = says(b"here")
    for path in ("/", "/2", "/"):
        assert get(server.url(path), local) == b"here"
    assert len({asked.port for asked in server.asked}) == 1
    thread = threading.Thread(target=lambda: get(server.url(), local))
    thread.start()
    thread.join()
    assert len({asked.port for asked in server.asked}) == 2


def test_other_settings_check_the_address_again(server: LocalServer, local: JobSettings, names: Names) -> None:
    names("files.example", "127.0.0.1")
    assert get(server.url("/", "files.example"), local) == b"here"
    with pytest.raises(AddressRefused, match="which is loopback"):
        get(server.url("/", "files.example"), ONLY_SECOND)
    assert len(server.asked) == 1


def test_a_request_that_meets_a_closed_connection_goes_by_another_one(server: LocalServer, local: JobSettings) -> None:
    silent = iter([False, True, False, True])

    def answers_or_hangs_up(exchange: Exchange) -> None:
        if next(silent):
            exchange.close_connection = True
        else:
            exchange.answer(200, b"here")

    server.routes["/"] = answers_or_hangs_up
    assert get(server.url(), local) == b"here"
    assert get(server.url(), local) == b"here"
    assert len({asked.port for asked in server.asked}) == 2
    server.routes["/first"] = lambda exchange: setattr(exchange, "close_connection", True)
    with pytest.raises(AttemptFailed):
        get(server.url("/first"), read_settings({"PRIVATE_NETWORKS": ["127.0.0.0/8"], "PORTS": None}))
    assert len(server.asked) == 4, "a new connection that is closed is a failure of the server"


def test_a_request_that_was_answered_in_part_is_not_sent_again(server: LocalServer, local: JobSettings) -> None:
    broken = iter([False, True])

    def answers_or_breaks_off(exchange: Exchange) -> None:
        if next(broken):
            exchange.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Le")
            exchange.close_connection = True
        else:
            exchange.answer(200, b"here")

    server.routes["/"] = answers_or_breaks_off
    assert get(server.url(), local) == b"here"
    with pytest.raises(AttemptFailed):
        get(server.url(), local)
    assert len(server.asked) == 2
    assert len({asked.port for asked in server.asked}) == 1, "the second one went by the kept connection"


def test_each_request_of_a_connection_has_its_own_end_in_time(server: LocalServer, local: JobSettings) -> None:
    server.routes["/slow"] = lambda exchange: server.over.wait(60)
    assert get(server.url(), local) == b"here"
    with pytest.raises(AttemptFailed, match=r"longer than 0\.2 s"):
        get(server.url("/slow"), local, seconds=0.2)
    assert len({asked.port for asked in server.asked}) == 1


def test_an_answer_that_is_not_read_to_its_end_closes_its_connection(server: LocalServer, local: JobSettings) -> None:
    server.routes["/much"] = says(b"x" * 1_000_000)
    target, deadline = check_url(server.url("/much"), "url", local), Deadline(60)
    with answer_to("GET", target, what="url", headers={}, settings=local, deadline=deadline):
        pass
    assert get(server.url(), local) == b"here"
    assert len({asked.port for asked in server.asked}) == 2


@pytest.mark.parametrize("way", ["http://127.0.0.1:{}/", "http://inside.example:{}/", "http://2130706433:{}/"])
def test_a_redirect_to_an_address_within_is_refused(names: Names, way: str) -> None:
    names("inside.example", "127.0.0.1")
    with serving({"/": says(b"secret")}) as inside, serving({}, "127.0.0.2") as outside:
        outside.routes["/"] = leads_to(way.format(inside.port))
        with pytest.raises(AddressRefused):
            get(outside.url(), ONLY_SECOND)
    assert inside.asked == []


def test_a_redirect_to_a_file_is_refused(local: JobSettings) -> None:
    with serving({"/": leads_to("file:///etc/passwd")}) as server, pytest.raises(AddressRefused, match="must begin"):
        get(server.url(), local)


def test_redirects_are_followed_to_the_limit(server: LocalServer) -> None:
    settings = read_settings({"PRIVATE_NETWORKS": ["127.0.0.0/8"], "PORTS": None, "MAX_REDIRECTS": 2})
    server.routes |= {"/1": leads_to("/2"), "/2": leads_to("/"), "/0": leads_to("/1"), "/loop": leads_to("/loop")}
    assert get(server.url("/1"), settings) == b"here"
    for way in ("/0", "/loop"):
        with pytest.raises(AttemptFailed, match="more than 2 redirects"):
            get(server.url(way), settings)


def test_another_host_gets_no_secret_header(local: JobSettings) -> None:
    with serving({"/": says(b"")}, "127.0.0.2") as other, serving({"/": leads_to(other.url())}) as first:
        get(first.url(), local, Authorization="Bearer x", X_Api_Key="y", Accept="image/*")
    assert first.asked[0].headers["X-Api-Key"] == "y"
    assert {name.lower() for name in other.asked[0].headers} & {"authorization", "x-api-key"} == set()
    assert other.asked[0].headers["Accept"] == "image/*"


def test_the_next_address_is_tried_if_one_does_not_answer(
    server: LocalServer, local: JobSettings, names: Names
) -> None:
    names("two.example", "127.0.0.3 127.0.0.1")
    assert get(server.url("/", "two.example"), local) == b"here"


def test_a_name_without_an_address_cannot_be_reached(local: JobSettings) -> None:
    with pytest.raises(AttemptFailed, match="has no address"):
        get("http://nothing.invalid/", local)


def dripping_body(exchange: Exchange) -> None:
    exchange.send_response(200)
    exchange.send_header("Content-Length", "1000000")
    exchange.end_headers()
    while not exchange.local.over.wait(0.02):
        exchange.wfile.write(b".")


def dripping_head(exchange: Exchange) -> None:
    exchange.wfile.write(b"HTTP/1.1 200 OK\r\nX-A: ")
    while not exchange.local.over.wait(0.02):
        exchange.wfile.write(b".")


@pytest.mark.parametrize("route", [dripping_body, dripping_head])
def test_an_answer_that_drips_for_ever_ends_at_the_deadline(local: JobSettings, route: Route) -> None:
    with serving({"/": route}) as server, pytest.raises(AttemptFailed, match=r"It took longer than 0\.3 s\."):
        get(server.url(), local, seconds=0.3)


def passed_on(exchange: Exchange) -> None:
    exchange.answer(200, f"proxied {exchange.path}".encode())


def test_a_proxy_is_asked_with_its_password(local: JobSettings, names: Names) -> None:
    names("files.example", "127.0.0.1")
    with serving({}) as proxy:
        proxy.routes["http://files.example/a"] = passed_on
        way = proxy.url().replace("//", "//ada:secret@")
        assert get("http://files.example/a", local, proxy=way) == b"proxied http://files.example/a"
    assert proxy.asked[0].headers["Proxy-Authorization"] == "Basic YWRhOnNlY3JldA=="


def test_a_proxy_and_what_is_behind_it_are_checked(names: Names) -> None:
    names("inside.example", "127.0.0.1")
    with serving({}) as proxy, pytest.raises(AddressRefused, match="The proxy"):
        get("http://93.184.215.14/", ONLY_SECOND, proxy=proxy.url())
    with serving({}, "127.0.0.2") as allowed, pytest.raises(AddressRefused, match=r"The url inside\.example:80"):
        get("http://inside.example/", ONLY_SECOND, proxy=allowed.url())
    assert proxy.asked == allowed.asked == []


def test_a_proxy_of_the_environment_is_not_used(
    server: LocalServer, local: JobSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1/")
    assert get(server.url(), local) == b"here"


def test_credentials_of_a_url_are_sent_and_not_logged(
    server: LocalServer, local: JobSettings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    url = server.url("/?token=abc").replace("//", "//ada:secret@")
    assert get(url, local) == b"here"
    assert server.asked[0].headers["Authorization"] == "Basic YWRhOnNlY3JldA=="
    assert server.asked[0].path == "/?token=abc"
    assert caplog.text == ""


def test_credentials_of_a_redirect_are_those_of_its_own_url(server: LocalServer, local: JobSettings) -> None:
    server.routes |= {"/same": leads_to("/"), "/own": leads_to(server.url("/").replace("//", "//bob:other@"))}
    for path in ("/same", "/own"):
        get(server.url(path).replace("//", "//ada:secret@"), local)
    sent = [asked.headers["Authorization"] for asked in server.asked]
    assert sent == ["Basic YWRhOnNlY3JldA=="] * 3 + ["Basic Ym9iOm90aGVy"]
