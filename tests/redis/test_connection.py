"""From a URL to a client."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from queueops.conf.tables import CONNECT
from queueops.errors import BadUrl
from queueops.model.redact import DEFAULT
from queueops.redis.client_factory import EmbeddedConnection, connect
from tests.support.for_each import for_each


def options(url: str, **more: Any) -> dict[str, Any]:
    """What the connections of the URL's client are made with."""
    with connect(url, **more) as client:
        found: dict[str, Any] = client.connection_pool.connection_kwargs
        return found


def test_the_embedded_server_is_not_started_before_it_is_asked(empty_directory: Path) -> None:
    with connect(f"embedded:{empty_directory}") as client:
        assert client.connection_pool.connection_class is EmbeddedConnection
        assert not empty_directory.exists()
        assert client.ping()


def test_redis_py_takes_every_option_that_may_be_set() -> None:
    values: dict[str, Any] = {
        "health_check_interval": 1,
        "socket_keepalive": True,
        "ssl_check_hostname": False,
        "ssl_cert_reqs": "none",
    }
    values["credential_provider"] = None  # it excludes a user name
    with connect("rediss://h", **dict.fromkeys(CONNECT, 5) | values) as client:
        assert client.connection_pool.make_connection()


@pytest.mark.parametrize(
    "url", ["redis://h", "unix:///run/redis.sock", "embedded:/run/data", "redis+sentinel://h/name"]
)
def test_a_new_connection_reads_no_metadata_of_packages(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: pytest.fail(f"read the metadata of {name}"))
    with connect(url) as client:
        assert client.connection_pool.make_connection()


def test_an_address_of_a_host_is_understood() -> None:
    found = options("redis://user:pass@example.org:7000/3")
    expected = {"host": "example.org", "port": 7000, "db": 3, "username": "user", "password": "pass"}
    assert expected.items() <= found.items()


def test_tls_and_sockets_have_their_own_schemes() -> None:
    with connect("rediss://example.org") as client:
        assert client.connection_pool.connection_class is redis.SSLConnection
    with connect("unix:///run/redis.sock?db=2") as client:
        assert client.connection_pool.connection_class is redis.UnixDomainSocketConnection


@for_each(("scheme", "same"), [("valkey", "redis"), ("valkeys", "rediss")])
@for_each("rest", ["://u:p@h:7000/3", "+sentinel://u:p@a,b:27000/primary/2?sentinel_password=s"])
def test_the_schemes_of_valkey_mean_the_same_as_those_of_redis(scheme: str, same: str, rest: str) -> None:
    def made(url: str) -> tuple[Any, ...]:
        with connect(url) as client:
            pool: Any = client.connection_pool
            plain = {name: value for name, value in pool.connection_kwargs.items() if isinstance(value, str | int)}
            manager = getattr(pool, "sentinel_manager", None)
            sentinels = [one.connection_pool.connection_kwargs for one in manager.sentinels] if manager else []
            return plain, pool.connection_class, [(one["host"], one["port"], one["password"]) for one in sentinels]

    assert made(scheme + rest) == made(same + rest)


def test_a_cluster_has_a_scheme_of_valkey_too() -> None:
    with pytest.raises(redis.ConnectionError):
        connect("valkey+cluster://127.0.0.1:1", socket_connect_timeout=0.2)
    with pytest.raises(BadUrl, match="database 0 only"):
        connect("valkeys+cluster://127.0.0.1:1/2")


def test_a_socket_works(redis_url: str) -> None:
    with connect(redis_url) as client:
        assert client.ping()


def test_replies_are_bytes(redis_client: redis.Redis) -> None:
    redis_client.set("k", "v")
    assert redis_client.get("k") == b"v"


def test_our_options_win_over_the_defaults() -> None:
    assert (
        options("redis://h", socket_timeout=None, client_name="me").items()
        >= {
            "socket_timeout": None,
            "client_name": "me",
        }.items()
    )


@pytest.fixture
def deaf_server() -> Iterator[tuple[int, list[int]]]:
    """A server that closes each connection at its first bytes; and how often that was."""
    calls: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            while True:
                try:
                    peer, _ = listener.accept()
                except OSError:
                    return
                with peer:
                    calls.append(1)
                    peer.recv(1024)

        thread = threading.Thread(target=answer)
        thread.start()
        yield listener.getsockname()[1], calls
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


def test_a_lost_call_is_never_repeated_by_the_client(deaf_server: tuple[int, list[int]]) -> None:
    port, calls = deaf_server
    with connect(f"redis://127.0.0.1:{port}") as client, pytest.raises(redis.ConnectionError):
        client.incr("counter")
    assert len(calls) == 1


def test_sentinels_are_asked_for_their_master() -> None:
    with connect("redis+sentinel://user:pw@a,b:27000/primary/2?sentinel_password=s&socket_timeout=4") as client:
        pool: Any = client.connection_pool
        found = pool.connection_kwargs
        sentinels = [one.connection_pool.connection_kwargs for one in pool.sentinel_manager.sentinels]
    assert pool.service_name == "primary"
    assert {"db": 2, "username": "user", "password": "pw", "socket_timeout": 4.0}.items() <= found.items()
    assert [(one["host"], one["port"], one["password"]) for one in sentinels] == [("a", 26379, "s"), ("b", 27000, "s")]


@for_each(
    ("url", "message"),
    [
        ("redis+sentinel://a,b", "the name of the sentinels' master is missing"),
        ("redis+sentinel:///primary", "a host is missing"),
        ("redis://host:port/", "Port could not be cast"),
        ("http://host", "there is no scheme 'http'"),
    ],
)
def test_a_url_that_is_not_understood_is_told(url: str, message: str) -> None:
    with pytest.raises(BadUrl, match=message):
        connect(url)


def test_a_cluster_that_is_not_there_is_an_error_of_the_client() -> None:
    with pytest.raises(redis.RedisError):
        connect("redis+cluster://127.0.0.1:1", socket_connect_timeout=0.2)


@for_each(
    ("text", "shown"),
    [
        ("redis://user:secret@host/0", "redis://user:***@host/0"),
        ("redis://:secret@host", "redis://:***@host"),
        (
            "rediss+sentinel://u:p@ss@a,b/m?sentinel_password=q&db=1",
            "rediss+sentinel://u:***@a,b/m?sentinel_password=***&db=1",
        ),
        ("cannot reach redis://u:p@h: refused", "cannot reach redis://u:***@h: refused"),
        ("redis://host:6379/0", "redis://host:6379/0"),
        ("valkey://user:a/b?c@host/0", "valkey://user:***@host/0"),
        ("valkeys+cluster://u:a?b#c/d@e@h1,h2", "valkeys+cluster://u:***@h1,h2"),
        ("'redis://:ab/cd@host:6379/0' and a@b", "'redis://:***@host:6379/0' and a@b"),
        ("rediss+cluster://u:a?b#c/d@e@h1,h2", "rediss+cluster://u:***@h1,h2"),
        ("see https://host:8000/users/@me", "see https://host:8000/users/@me"),
        ("embedded:/var/x", "embedded:/var/x"),
    ],
)
def test_no_password_is_shown(text: str, shown: str) -> None:
    assert DEFAULT.text(text) == shown
