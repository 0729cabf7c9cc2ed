"""Sentinels and a primary behind TLS and passwords: how their clients are let in, and what a refusal says."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from queueops.conf import Settings
from queueops.errors import BrokerUnavailable
from queueops.redis.broker import RedisBroker
from tests.support import topology
from tests.support.waiting import wait_until

PROGRAM = shutil.which("redis-server")
pytestmark = pytest.mark.skipif(
    PROGRAM is None and not os.environ.get("CI"), reason="there is no redis-server, which has TLS; install it"
)
CERTIFICATE = (
    "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    " -keyout key -out cert"
)
USER, PASSWORD = "ada", "s3cret"


class Place(NamedTuple):
    """Where the sentinel answers, and the file that makes its certificate trusted."""

    host: str
    certificate: Path

    def url(self, query: str, user: str = f"sentinel_username={USER}&sentinel_password={PASSWORD}") -> str:
        return f"rediss+sentinel://{self.host}/{topology.NAME}?{'&'.join(filter(None, (query, user)))}"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(CERTIFICATE.split(), cwd=folder, check=True, capture_output=True)
    tls = (
        *(f"tls-{name}-file {folder}/{file}" for name, file in (("cert", "cert"), ("key", "key"), ("ca-cert", "cert"))),
        "tls-auth-clients no",
        "tls-replication yes",
    )
    at_primary, at_sentinel = topology.free_ports(2)
    primary = topology.Node(folder / "primary", *tls, f"tls-port {at_primary}", program=PROGRAM or "")
    with topology.ended(primary):
        sentinel = topology.Node(
            folder / "sentinel",
            *tls,
            f"tls-port {at_sentinel}",
            f"sentinel monitor {topology.NAME} {topology.HOST} {at_primary} 1",
            program=PROGRAM or "",
        )
        with topology.ended(sentinel):
            wait_until(lambda: sentinel.client.sentinel_masters()[topology.NAME]["is_sdown"] is False, 60)
            sentinel.client.acl_setuser(USER, enabled=True, passwords=[f"+{PASSWORD}"], commands=["+@all"])
            sentinel.client.acl_setuser("default", enabled=False)
            yield Place(f"{topology.HOST}:{at_sentinel}", folder / "cert")


def asked(url: str, **connect: Any) -> float:
    broker = RedisBroker(Settings(url=url, connect=connect))
    try:
        return float(broker.ask("default", lambda client: client.ping()))
    finally:
        broker.close()


def test_the_options_of_tls_reach_the_sentinels(place: Place) -> None:
    assert asked(place.url(f"ssl_ca_certs={place.certificate}"))
    assert asked(place.url("ssl_cert_reqs=none"))
    assert asked(place.url(""), ssl_ca_certs=str(place.certificate))
    assert asked(place.url(""), ssl_cert_reqs="none")


def test_a_certificate_that_is_not_trusted_is_named_with_what_to_do(place: Place) -> None:
    with pytest.raises(BrokerUnavailable) as refused:
        asked(place.url(""))
    assert "certificate verify failed: self-signed certificate" in str(refused.value)
    assert "ssl_ca_certs" in str(refused.value)
    assert place.host in refused.value.reason


@pytest.mark.parametrize("user", ["", f"sentinel_username={USER}&sentinel_password=wrong"])
def test_a_sentinel_that_refuses_the_password_is_named_with_its_reason(place: Place, user: str) -> None:
    with pytest.raises(BrokerUnavailable) as refused:
        asked(place.url(f"ssl_ca_certs={place.certificate}", user))
    assert place.host in refused.value.reason
    assert "sentinel_username" in str(refused.value)
    assert "redis.client.Redis" not in str(refused.value)
