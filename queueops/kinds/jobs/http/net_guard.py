"""SSRF guard: decides which URLs and addresses a job may reach, and how a URL is shown.

A URL is checked twice. `check_url` reads its text, without a look-up: when a job is handed in, and at each redirect.
`public_addresses` resolves its host when a connection is made, and refuses the host if one of its addresses is not
public. The connection goes to an address that was checked, so a second look-up cannot change it.
"""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit, urlunsplit

from queueops import conf
from queueops.errors.job_network import AddressRefused, HeaderRefused
from queueops.kinds.jobs.header_rules import fault_of_header
from queueops.kinds.jobs.settings import JobSettings, Network
from queueops.model.redact import MASK, mask_in
from queueops.model.redact_text import IN_URL, SECRET_PARAMETERS

Address = IPv4Address | IPv6Address

LONGEST_URL = 4096
SCHEMES = {"http": 80, "https": 443}
"""Allowed schemes, each with its port."""
LABELS = re.compile(
    r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
)
NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
"""A host that a resolver may read as an IPv4 address: decimal, octal, hexadecimal, or with fewer than four parts."""
NOT_PUBLIC: dict[Network, str] = {
    IPv4Network("0.0.0.0/8"): "unspecified",
    IPv4Network("10.0.0.0/8"): "private",
    IPv4Network("100.64.0.0/10"): "shared by carriers",
    IPv4Network("127.0.0.0/8"): "loopback",
    IPv4Network("169.254.0.0/16"): "link-local",
    IPv4Network("172.16.0.0/12"): "private",
    IPv4Network("192.0.0.0/24"): "reserved",
    IPv4Network("192.0.2.0/24"): "for documentation",
    IPv4Network("192.88.99.0/24"): "reserved",
    IPv4Network("192.168.0.0/16"): "private",
    IPv4Network("198.18.0.0/15"): "for benchmarks",
    IPv4Network("198.51.100.0/24"): "for documentation",
    IPv4Network("203.0.113.0/24"): "for documentation",
    IPv4Network("224.0.0.0/4"): "multicast",
    IPv4Network("240.0.0.0/4"): "reserved",
    IPv6Network("::1/128"): "loopback",
    IPv6Network("::/128"): "unspecified",
    IPv6Network("64:ff9b:1::/48"): "a local translation prefix",
    IPv6Network("2001::/23"): "reserved",
    IPv6Network("2001:db8::/32"): "for documentation",
    IPv6Network("3fff::/20"): "for documentation",
    IPv6Network("fc00::/7"): "private",
    IPv6Network("fe80::/10"): "link-local",
    IPv6Network("fec0::/10"): "site-local",
    IPv6Network("ff00::/8"): "multicast",
}
"""Special networks of the registries of IANA. Listed here: what `ipaddress` calls global differs between versions."""
GLOBAL_V6 = IPv6Network("2000::/3")
NOT_AMONG = ", and not in a network of QUEUEOPS['JOBS']['PRIVATE_NETWORKS']"
"""What permits an address that is not public."""
NAT64, COMPATIBLE = IPv6Network("64:ff9b::/96"), IPv6Network("::/96")
ISATAP = 0x5EFE
KEPT = "%/:?#[]@!$&'()*+,;=~"
"""Characters of URLs that are not quoted, beside letters and digits."""
NEVER_IN_URLS = re.compile(r"[\x00-\x20\\\x7f\ud800-\udfff]")
"""Spaces, control characters, backslashes and halves of characters."""
JOINERS = re.compile("[\u200c\u200d]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A URL whose text was checked, and its parts. Its host is not resolved yet."""

    url: str  # as it is requested: host in ASCII, without a fragment
    scheme: str
    host: str  # a name, or an address without brackets
    port: int
    authority: str  # host and port, as in the header Host
    path: str  # with the query
    user: str  # and the password after a colon, as in the URL; empty = none


def check_url(url: object, what: str, settings: JobSettings) -> Target:
    """Check the text of a URL: scheme, user, host and port. Raises AddressRefused, with `what` in its message."""
    try:
        if isinstance(url, str):
            return _checked(url, settings.ports, settings.private_networks)
        return _target(url, settings.ports, settings.private_networks)
    except _Fault as fault:
        raise AddressRefused(what=what, url=shown_url(str(url)), reason=str(fault)) from None


def public_addresses(host: str, port: int, what: str, settings: JobSettings) -> list[str]:
    """Resolve a host, and check all of its addresses. Raises AddressRefused, and OSError if it has none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(each[4][0]).partition("%")[0] for each in found))
    for each in addresses:
        if reason := fault_of_address(ip_address(each), settings):
            said = f"its host has the address {each}, which is {reason}" if each != host else f"{each} is {reason}"
            said += NOT_AMONG
            raise AddressRefused(what=what, url=_authority(host, port), reason=said)
    return addresses


def fault_of_address(address: Address, settings: JobSettings) -> str:
    """Why an address may not be reached; empty if it may. An IPv4 address within an IPv6 address is checked, too."""
    return _fault_of_address(address, settings.private_networks)


@lru_cache(maxsize=4096)
def _fault_of_address(address: Address, private: tuple[Network, ...]) -> str:
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if any(address in network for network in private):
        return ""
    for network, kind in NOT_PUBLIC.items():
        if address in network:
            return kind
    if isinstance(address, IPv4Address):
        return ""
    for inner in _embedded(address):
        if reason := _fault_of_address(inner, private):
            return f"a way to {inner}, which is {reason}"
    return "" if address in GLOBAL_V6 or address in NAT64 else "not public"


def check_headers(headers: object) -> dict[str, str]:
    """The request headers of a job, if each can be sent. Raises HeaderRefused, which never shows a value."""
    if not isinstance(headers, dict):
        raise HeaderRefused(reason="they are no object")
    if len(headers) > 100:
        raise HeaderRefused(reason=f"they are {len(headers)}, and at most 100 are sent")
    for name, value in headers.items():
        if fault := fault_of_header(name, value):
            raise HeaderRefused(reason=fault)
    return dict(headers)


def shown_url(url: str) -> str:
    """A URL without its credentials, and without the values of secret query parameters."""
    try:
        parts = urlsplit(url[:LONGEST_URL])
        _, _, host = parts.netloc.rpartition("@")
        netloc = f"{IN_URL}@{host}" if "@" in parts.netloc else parts.netloc
        return conf.redactor().text(urlunsplit(parts._replace(netloc=netloc, query=_masked_query(parts.query))))
    except ValueError:
        return MASK


def is_secret_parameter(name: str) -> bool:
    """Whether the value of a query parameter is masked."""
    return name.lower() in SECRET_PARAMETERS or conf.redactor().hides(name)


class _Fault(ValueError):
    """What is wrong with a URL."""


@lru_cache(maxsize=1024)
def _checked(url: str, ports: tuple[int, ...] | None, private: tuple[Network, ...]) -> Target:
    """The parts of a URL that was checked. An attempt asks several times, and so do the jobs of one callback."""
    return _target(url, ports, private)


def _target(url: object, ports: tuple[int, ...] | None, private: tuple[Network, ...]) -> Target:
    if not isinstance(url, str):
        raise _Fault(f"it is {type(url).__name__}, and must be a text")
    if not 0 < len(url) <= LONGEST_URL:
        raise _Fault(f"it has {len(url):,} characters, and must have 1 to {LONGEST_URL:,}")
    if NEVER_IN_URLS.search(url):
        raise _Fault("it has a space, a backslash, a control character or half of a character")
    if mask := mask_in(unquote(url), is_secret_parameter):
        raise _Fault(
            f"it has {mask} in the place of a secret, as shown URLs have: give the secret itself."
            f" A secret that is really {mask} cannot be told from a mask"
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _Fault(f"it cannot be read: {error}") from None
    if parts.scheme not in SCHEMES or "://" not in url:
        raise _Fault(f"it must begin with {' or '.join(f'{scheme}://' for scheme in SCHEMES)}")
    host = _checked_host(parts.hostname or "", "[" in parts.netloc, private)
    port = SCHEMES[parts.scheme] if port is None else port
    if ports is not None and port not in ports:
        allowed = ", ".join(map(str, ports))
        raise _Fault(f"the port {port} is not among QUEUEOPS['JOBS']['PORTS']: {allowed}")
    authority = _authority(host, None if port == SCHEMES[parts.scheme] else port)
    path, query, user = (quote(each, safe=KEPT) for each in (parts.path or "/", parts.query, _user(parts)))
    at = f"{user}@" if "@" in parts.netloc else ""
    return Target(
        url=urlunsplit((parts.scheme, at + authority, path, query, "")),  # any character that is not ASCII is quoted
        scheme=parts.scheme,
        host=host,
        port=port,
        authority=authority,
        path=f"{path}?{query}" if query else path,
        user=user,
    )


@lru_cache(maxsize=1024)
def _checked_host(name: str, has_brackets: bool, private: tuple[Network, ...]) -> str:
    """The host in ASCII and small letters. Raises _Fault, also for an address that may not be reached."""
    host = _address_in_brackets(name) if has_brackets else _host(name)
    if reason := _fault_of_literal(host, private):
        raise _Fault(f"{host} is {reason}{NOT_AMONG}")
    return host


def _host(name: str) -> str:
    name = (name if name.isascii() else _in_ascii(name)).lower().removesuffix(".")
    if not LABELS.fullmatch(name):
        raise _Fault("it has no host" if not name else "its host is not a name")
    if NUMBER.fullmatch(name) and not _is_plain_address(name):
        raise _Fault(f"its host {name} is a number that may stand for another address")
    return name


def _in_ascii(name: str) -> str:
    """A name in another script as browsers ask for it: UTS 46 without transition, any character that it allows."""
    import idna  # a package of the extra: pages without it show URLs

    try:
        labels = idna.uts46_remap(name, std3_rules=False).split(".")
        return ".".join(label if label.isascii() else _label_in_ascii(label) for label in labels)
    except UnicodeError:
        raise _Fault("its host is not a name") from None


def _label_in_ascii(label: str) -> str:
    import idna

    try:
        return idna.alabel(label).decode()
    except idna.InvalidCodepoint:  # such as an emoji, which IDNA 2008 leaves out
        if JOINERS.search(label):
            raise
        return "xn--" + label.encode("punycode").decode()


def _address_in_brackets(name: str) -> str:
    try:
        if "%" not in name:
            return str(IPv6Address(name))
    except ValueError:
        pass
    raise _Fault("the address in its brackets is not valid")


def _fault_of_literal(host: str, private: tuple[Network, ...]) -> str:
    try:
        return _fault_of_address(ip_address(host), private)
    except ValueError:
        return ""  # a name: its addresses are checked when a connection is made


def _is_plain_address(name: str) -> bool:
    """Whether this is an IPv4 address of four decimal numbers without leading zeros."""
    try:
        return str(IPv4Address(name)) == name
    except ValueError:
        return False


def _user(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[0]


def _authority(host: str, port: int | None) -> str:
    name = f"[{host}]" if ":" in host else host
    return name if port is None else f"{name}:{port}"


def _embedded(address: IPv6Address) -> list[IPv4Address]:
    """IPv4 addresses that an IPv6 address leads to: 6to4, NAT64, IPv4-compatible and ISATAP."""
    found = [address.sixtofour] if address.sixtofour else []
    if address in NAT64 or address in COMPATIBLE:
        found.append(IPv4Address(int(address) & 0xFFFFFFFF))
    if (int(address) >> 32) & 0xFCFFFFFF == ISATAP:
        found.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return found


def _masked_query(query: str) -> str:
    names = {name for name, _ in parse_qsl(query, keep_blank_values=True)}
    if not any(map(is_secret_parameter, names)):
        return query
    return "&".join(map(_masked_pair, query.split("&")))


def _masked_pair(pair: str) -> str:
    name, sign, value = pair.partition("=")
    return f"{name}={IN_URL}" if sign and value and is_secret_parameter(unquote(name)) else pair
