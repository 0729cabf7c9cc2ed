"""The SSRF guard: URLs and addresses that a job may not reach, and how a URL is shown."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from queueops.errors.job_network import AddressRefused, HeaderRefused
from queueops.kinds.jobs.http.net_guard import (
    check_headers,
    check_url,
    fault_of_address,
    public_addresses,
    shown_url,
)
from queueops.kinds.jobs.settings import JobSettings, read_settings
from tests.jobs.conftest import Names
from tests.support.for_each import for_each

DEFAULT = JobSettings()


@for_each(
    ("url", "reason"),
    [
        ("ftp://example.com/a", "it must begin with http:// or https://"),
        ("file:///etc/passwd", "it must begin with http:// or https://"),
        ("//example.com/a", "it must begin with http:// or https://"),
        ("", "it has 0 characters, and must have 1 to 4,096"),
        ("http://example.com/" + "a" * 5000, "it has 5,019 characters"),
        (None, "it is NoneType, and must be a text"),
        ("http://", "it has no host"),
        ("http://a..b/", "its host is not a name"),
        ("http://a%00b/", "its host is not a name"),
        ("http://example.com:22/", "the port 22 is not among QUEUEOPS['JOBS']['PORTS']: 80, 443, 3128, 8080, 8443"),
        ("http://example.com:99999/", "it cannot be read"),
        ("http://example.com\\@127.0.0.1/", "a backslash"),
        ("http://example.com/\r\nHost: x", "a control character"),
        ("http://a b/", "it has a space"),
        ("http://example.com/\ud800", "half of a character"),
        ("http://a\u200db.example/", "its host is not a name"),
        ("http://💩\u200d💩.example/", "its host is not a name"),
        ("http://\u0301a.example/", "its host is not a name"),
        ("http://2130706433/", "a number that may stand for another address"),
        ("http://0x7f000001/", "a number that may stand for another address"),
        ("http://0177.0.0.1/", "a number that may stand for another address"),
        ("http://127.1/", "a number that may stand for another address"),
        ("http://127.0.0.1/", "127.0.0.1 is loopback"),
        ("http://127.0.0.1./", "127.0.0.1 is loopback"),
        ("http://１２７.0.0.1/", "127.0.0.1 is loopback"),
        ("http://public.example@10.0.0.1/", "10.0.0.1 is private"),
        ("http://169.254.169.254/latest/meta-data", "169.254.169.254 is link-local"),
        ("http://[::1]/", "::1 is loopback"),
        ("http://[::ffff:127.0.0.1]/", "is loopback"),
        ("http://[fe80::1%25eth0]/", "the address in its brackets is not valid"),
    ],
)
def test_a_url_that_may_not_be_reached_is_refused_with_the_reason(url: object, reason: str) -> None:
    with pytest.raises(AddressRefused) as refused:
        check_url(url, "url", DEFAULT)
    assert reason in str(refused.value)


@for_each(
    ("url", "asked"),
    [
        ("http://example.com", "http://example.com/"),
        ("https://EXAMPLE.com.:443/a b".replace(" ", "%20"), "https://example.com/a%20b"),
        ("https://user:pass@example.com:8443/a?b=é#part", "https://user:pass@example.com:8443/a?b=%C3%A9"),
        ("http://münchen.example/ü", "http://xn--mnchen-3ya.example/%C3%BC"),
        ("https://straße.example/", "https://xn--strae-oqa.example/"),
        ("https://FAß。de/", "https://xn--fa-hia.de/"),
        ("https://βόλος.example/", "https://xn--nxasmm1c.example/"),
        ("https://نامه\u200cای.example/", "https://xn--mgba3gch31f060k.example/"),
        ("https://💩.la/", "https://xn--ls8h.la/"),
        ("https://a_b.bücher.example/", "https://a_b.xn--bcher-kva.example/"),
        ("http://93.184.215.14/", "http://93.184.215.14/"),
        ("http://[2606:2800:21f::1]:8080/", "http://[2606:2800:21f::1]:8080/"),
    ],
)
def test_a_url_is_asked_for_with_a_plain_host(url: str, asked: str) -> None:
    assert check_url(url, "url", DEFAULT).url == asked


@for_each(
    ("address", "kind"),
    [
        ("0.0.0.0", "unspecified"), ("10.1.2.3", "private"), ("100.64.0.1", "shared by carriers"),
        ("127.9.9.9", "loopback"), ("169.254.0.1", "link-local"), ("172.31.0.1", "private"),
        ("192.168.0.1", "private"), ("198.18.0.1", "for benchmarks"), ("203.0.113.1", "for documentation"),
        ("224.0.0.1", "multicast"), ("255.255.255.255", "reserved"), ("::", "unspecified"),
        ("fc00::1", "private"), ("fe80::1", "link-local"), ("ff02::1", "multicast"), ("2001:db8::1", "for doc"),
        ("2001::1", "reserved"), ("4000::1", "not public"), ("100::1", "not public"),
        ("::ffff:10.0.0.1", "private"), ("::ffff:0:10.0.0.1", "not public"),
        ("::10.0.0.1", "a way to 10.0.0.1, which is private"),
        ("2002:7f00:1::", "a way to 127.0.0.1, which is loopback"),
        ("64:ff9b::a9fe:a9fe", "a way to 169.254.169.254, which is link-local"),
        ("64:ff9b:1::808:808", "a local translation prefix"),
        ("2606:2800::5efe:192.168.0.1", "a way to 192.168.0.1, which is private"),
    ],
)  # fmt: skip
def test_an_address_that_is_not_public_is_named(address: str, kind: str) -> None:
    assert kind in fault_of_address(ip_address(address), DEFAULT)


@for_each("address", ["8.8.8.8", "2606:4700::1", "64:ff9b::808:808", "2002:808:808::", "::ffff:8.8.8.8"])
def test_a_public_address_may_be_reached(address: str) -> None:
    assert fault_of_address(ip_address(address), DEFAULT) == ""


def test_a_private_network_may_be_reached_if_the_setting_names_it() -> None:
    settings = read_settings({"PRIVATE_NETWORKS": ["10.0.0.0/8"]})
    assert check_url("http://10.0.0.1/", "url", settings).host == "10.0.0.1"
    assert fault_of_address(ip_address("::ffff:10.0.0.1"), settings) == ""
    assert fault_of_address(ip_address("127.0.0.1"), settings) == "loopback"


def test_a_host_is_refused_if_one_of_its_addresses_is_not_public(names: Names) -> None:
    names("mixed.example", "8.8.8.8 192.168.0.1")
    with pytest.raises(AddressRefused, match=r"its host has the address 192\.168\.0\.1, which is private"):
        public_addresses("mixed.example", 80, "url", DEFAULT)


def test_localhost_is_refused_when_it_is_resolved() -> None:
    with pytest.raises(AddressRefused, match="which is loopback"):
        public_addresses("localhost", 80, "callback", DEFAULT)


@for_each(
    ("headers", "reason"),
    [
        ({"X-A": "a\r\nX-Injected: b"}, "the value of X-A has a line break"),
        ({"X-A\r\nX-B": "a"}, "characters that a name of a header cannot have"),
        ({"": "a"}, "characters that a name of a header cannot have"),
        ({"Host": "other"}, "Host is set by QueueOps"),
        ({"Proxy-Authorization": "x"}, "Proxy-Authorization is set by QueueOps"),
        ({"X-A": 1}, "the value of X-A is int, and must be a text"),
        ({"X-A": "a\x00b"}, "one that a header cannot have"),
        (["X-A"], "they are no object"),
        ({f"X-{number}": "a" for number in range(101)}, "they are 101"),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused_without_its_value(headers: object, reason: str) -> None:
    with pytest.raises(HeaderRefused) as refused:
        check_headers(headers)
    assert reason in str(refused.value)
    assert "Injected" not in str(refused.value)


@for_each(
    ("url", "shown"),
    [
        ("https://user:secret@example.com/a", "https://***@example.com/a"),
        ("https://example.com/a?token=abc&page=2", "https://example.com/a?token=***&page=2"),
        ("https://example.com/?X-Amz-Signature=ab&sig=cd&key=ef", "https://example.com/?X-Amz-Signature=***&sig=***&key=***"),
        ("https://example.com/?%74oken=abc", "https://example.com/?%74oken=***"),
        ("http://[broken", "[redacted]"),
    ],
)  # fmt: skip
def test_a_url_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert shown_url(url) == shown


def test_the_message_of_a_refusal_has_no_credentials() -> None:
    with pytest.raises(AddressRefused) as refused:
        check_url("http://ada:secret@10.0.0.1/?token=abc", "proxy", DEFAULT)
    assert str(refused.value) == (
        "The proxy http://***@10.0.0.1/?token=*** is refused: 10.0.0.1 is private, and not in a network of"
        " QUEUEOPS['JOBS']['PRIVATE_NETWORKS']."
    )
